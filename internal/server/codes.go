package server

import (
	"net/http"

	"memoryd"
)

// kind is what one slug means over HTTP.
type kind struct {
	code   memoryd.Code
	status int
	title  string
	about  string // what to do about it, for the page at /problems/SLUG
}

// kinds is the one table of failures: slug → code and status. A slug that is not here takes its code's status.
func kinds() map[string]kind {
	return map[string]kind{
		"bad-json":          {memoryd.Invalid, 400, "The body is not JSON", "Send one JSON object in UTF-8, with nothing behind it and at most 64 levels of nesting."},
		"bad-url":           {memoryd.Invalid, 400, "The address cannot be read", "A percent sign in a query string starts a two-digit hexadecimal escape; anything else is refused."},
		"bad-method":        {memoryd.Invalid, 405, "The method is not for this path", "The Allow header lists the methods that the path takes."},
		"bad-media-type":    {memoryd.Invalid, 415, "The body's type is not JSON", "Send Content-Type: application/json, in UTF-8, without Content-Encoding."},
		"slow-body":         {memoryd.Invalid, 408, "The body did not arrive in time", "Send the request again; the server waits a limited time for a body."},
		"bad-body":          {memoryd.Invalid, 400, "The body could not be read", "The connection broke or was framed wrongly before the whole body was here."},
		"bad-field":         {memoryd.Invalid, 422, "A field is not right", "fields[] names each field and says what it takes. Nothing was changed."},
		"bad-scope":         {memoryd.Invalid, 422, "The scope cannot be read", "A scope is global, dm, group:ID or agent:ID; a search also takes agent:self, all and cross:ID."},
		"unknown-field":     {memoryd.Invalid, 422, "There is no such field", "Field and parameter names are compared letter by letter, case included; /v1/openapi.json lists them."},
		"empty-filter":      {memoryd.Invalid, 422, "The filter is empty", "An empty filter would select everything; leave it out if that is meant."},
		"too-long":          {memoryd.Invalid, 422, "A field is too long", "fields[] names the field and its limit, in characters unless it says otherwise."},
		"no-key":            {memoryd.Unauthenticated, 401, "A key is needed", "Send Authorization: Bearer KEY, or X-API-Key: KEY. Keys in the query string are never read."},
		"bad-key":           {memoryd.Unauthenticated, 401, "The key is not valid", "The key is unknown, was revoked, or the request carries two different ones."},
		"expired-key":       {memoryd.Unauthenticated, 401, "The key has expired", "Ask for a new key."},
		"denied":            {memoryd.Denied, 403, "Not allowed", "The credential does not carry the right for this."},
		"scope-denied":      {memoryd.Denied, 403, "The scope is not yours to use", "The credential, or the agent named, may not read or write this scope."},
		"type-denied":       {memoryd.Denied, 403, "The type is not yours to write", "The agent may write memories of its allowed types only."},
		"not-operator":      {memoryd.Denied, 403, "Only for operators", "This takes an operator key."},
		"secret-refused":    {memoryd.Denied, 403, "The text holds a secret", "Memories that hold passwords, keys or tokens are refused."},
		"bad-origin":        {memoryd.Denied, 403, "Not from a page of another site", "Without keys the server answers local programs and its own pages only; see http.allowed_hosts and http.allowed_origins."},
		"not-found":         {memoryd.NotFound, 404, "There is no such thing", "It does not exist, or it is another's."},
		"conflict":          {memoryd.Conflict, 409, "It does not go together with what is there", "Read the current state and decide again."},
		"version":           {memoryd.Conflict, 412, "The version has moved on", "Read it again and repeat the change with the new version in If-Match."},
		"duplicate":         {memoryd.Conflict, 409, "An equal one is there already", "An active memory of the same text stands in the scope."},
		"idempotency":       {memoryd.Conflict, 409, "The idempotency key stands for another request, or for one that cannot be answered again", "A new request takes a new key. With Retry-After: the first request is under way; ask again."},
		"managed-by-config": {memoryd.Conflict, 409, "The configuration file decides this", "Change the file and reload it."},
		"immutable":         {memoryd.Conflict, 409, "It cannot be changed", "It was stored as immutable."},
		"too-large":         {memoryd.Exhausted, 413, "The body is too large", "Send less at once; http.max_body sets the limit."},
		"rate":              {memoryd.Exhausted, 429, "Too many requests", "Wait as long as Retry-After says."},
		"disk-full":         {memoryd.Exhausted, 507, "The disk is full", "Nothing was written; reading goes on. Make room on the server's disk."},
		"store-down":        {memoryd.Unavailable, 503, "The store does not answer", "Nothing was acknowledged; try again after Retry-After."},
		"provider-down":     {memoryd.Unavailable, 503, "The memory provider does not answer", "Try again after Retry-After."},
		"draining":          {memoryd.Unavailable, 503, "The server is shutting down", "Send the request to another replica, or again after Retry-After."},
		"timeout":           {memoryd.Unavailable, 504, "It took too long", "The request's time ran out before an answer was ready; try again after Retry-After."},
		"internal":          {memoryd.Internal, 500, "Something went wrong inside", "The server's log holds the cause under the request id."},
	}
}

// statusOf is the status of a code whose slug is not in the table.
func statusOf(code memoryd.Code) int {
	switch code {
	case memoryd.Invalid:
		return http.StatusUnprocessableEntity
	case memoryd.Unauthenticated:
		return http.StatusUnauthorized
	case memoryd.Denied:
		return http.StatusForbidden
	case memoryd.NotFound:
		return http.StatusNotFound
	case memoryd.Conflict:
		return http.StatusConflict
	case memoryd.Exhausted:
		return http.StatusTooManyRequests
	case memoryd.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
