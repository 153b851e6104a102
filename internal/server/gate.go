package server

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"memoryd"
)

// gate keeps web pages from talking to a server that demands no key: a page of another site is known by its Origin,
// one that had its own name point at this machine by the Host. It says whether the request has been answered.
func (s *Server) gate(x *exchange, r *http.Request) (done bool) {
	origin := r.Header.Get("Origin")
	allowed := origin != "" && slices.Contains(s.opt.AllowedOrigins, origin)
	foreign := len(r.Header.Values("Origin")) > 1 || origin != "" && !allowed && !sameHost(origin, r.Host)
	if foreign || !s.ownHost(r.Host) {
		open, err := s.opt.Access.Open(r.Context())
		if err != nil && memoryd.CodeOf(err) != memoryd.Invalid {
			s.refuse(x, r, err)
			return true
		}
		if err == nil && open {
			s.refuse(x, r, memoryd.Errorf(memoryd.Denied, "bad-origin",
				"while no key is demanded, only local names (localhost, 127.0.0.1, [::1]) and the server's own pages are answered"))
			return true
		}
	}
	if allowed {
		return s.cors(x, r, origin)
	}
	return false
}

// cors tells the browser that an allowed page may read the answer, and answers its question beforehand.
func (s *Server) cors(x *exchange, r *http.Request, origin string) (done bool) {
	h := x.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "ETag, Idempotency-Replayed, Retry-After, X-Request-ID")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	allowed := s.methods(r)
	if len(allowed) == 0 {
		return false
	}
	h.Set("Access-Control-Allow-Methods", strings.Join(allowed, ", "))
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, If-Match, X-API-Key, X-Memoryd-Tenant, X-Request-ID, Traceparent")
	h.Set("Access-Control-Max-Age", "600")
	x.WriteHeader(http.StatusNoContent)
	return true
}

func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(withoutDefaultPort(u.Host), withoutDefaultPort(host))
}

func withoutDefaultPort(host string) string {
	return strings.TrimSuffix(strings.TrimSuffix(host, ":80"), ":443")
}

// ownHost says whether a Host header names this machine itself, or a name that the owner allowed.
func (s *Server) ownHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		return true
	}
	return slices.ContainsFunc(s.opt.AllowedHosts, func(a string) bool {
		return strings.EqualFold(a, host) || strings.EqualFold(a, name)
	})
}
