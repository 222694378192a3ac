// The proof between services, docs/service-proof.md, with Go's standard library alone.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

const (
	proofHeader = "x-footnote-proof"
	everyMethod = "*"
	longestLife = 3660 // seconds
	leeway      = 30   // seconds that the signer's clock may be ahead
)

var (
	proofShape = regexp.MustCompile(`\Av1\.([0-9a-f]{8})\.([0-9]{1,12})\.([0-9]{1,12})\.([m*])\.([A-Za-z0-9_-]*)\.([0-9a-f]{64})\z`)
	errProof   = errors.New("the proof is malformed, not from a service of this deployment, not for this call, or too old")
)

// proofKey is one secret of the deployment.
type proofKey struct {
	id  string
	key []byte
}

func newProofKey(secret string) proofKey {
	return proofKey{
		id:  hex.EncodeToString(hmacOf([]byte(secret), "footnote service id"))[:8],
		key: hmacOf([]byte(secret), "footnote service key"),
	}
}

// signProof returns the header of a call on behalf of a serialised scope; times are Unix seconds.
func signProof(key proofKey, stage, method string, scope []byte, issued, expires int64) string {
	methods := "m"
	if method == everyMethod {
		methods = everyMethod
	}
	text := base64.RawURLEncoding.EncodeToString(scope)
	head := fmt.Sprintf("v1.%s.%d.%d.%s.%s", key.id, issued, expires, methods, text)
	return head + "." + hex.EncodeToString(hmacOf(key.key, head+"\n"+stage+"\n"+method))
}

// verifyProof returns the serialised scope that a header vouches for. `keys` are the secrets that are accepted, one or two.
func verifyProof(keys []proofKey, header, stage, method string, now int64) ([]byte, error) {
	match := proofShape.FindStringSubmatch(header)
	if match == nil {
		return nil, errProof
	}
	if match[4] == everyMethod {
		method = everyMethod
	}
	head := header[:strings.LastIndexByte(header, '.')]
	good := false
	for _, key := range keys {
		expected := hex.EncodeToString(hmacOf(key.key, head+"\n"+stage+"\n"+method))
		good = good || key.id == match[1] && hmac.Equal([]byte(expected), []byte(match[6]))
	}
	issued, _ := strconv.ParseInt(match[2], 10, 64)
	expires, _ := strconv.ParseInt(match[3], 10, 64)
	if !good || issued > now+leeway || expires < issued || expires-issued > longestLife || now > expires {
		return nil, errProof
	}
	scope, err := base64.RawURLEncoding.DecodeString(match[5])
	if err != nil {
		return nil, errProof
	}
	return scope, nil
}

func hmacOf(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
