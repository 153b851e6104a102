package sqlstore

import (
	"database/sql"
	"encoding/json"
	"time"

	"memoryd"
)

// Times are kept to the microsecond, in UTC but for those that have an offset column.

func micros(t time.Time) int64 { return t.UnixMicro() }

func optMicros(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.UnixMicro()
}

func timeOf(us int64) time.Time { return time.UnixMicro(us).UTC() }

func optTime(us sql.NullInt64) *time.Time {
	if !us.Valid {
		return nil
	}
	t := timeOf(us.Int64)
	return &t
}

// offset is the time's distance from UTC in seconds.
func offset(t time.Time) int64 {
	_, seconds := t.Zone()
	return int64(seconds)
}

// timeAt is the time as its writer's clock showed it.
func timeAt(us, offset int64) time.Time {
	if offset == 0 {
		return timeOf(us)
	}
	return time.UnixMicro(us).In(time.FixedZone("", int(offset)))
}

// object is JSON that callers may leave out: "{}" stands for none.
func object(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "{}"
	}
	return string(raw)
}

// optRaw is the JSON of a column where "" stands for none.
func optRaw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// flag is a boolean as all databases keep it.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// sees says whether the owner and the set may see a row.
func sees(o memoryd.Owner, s memoryd.Scopes, tenant, user string, scope memoryd.Scope) bool {
	return tenant == o.Tenant && (o.User == "" || user == o.User || scope.Group() != "") && s.Has(scope)
}
