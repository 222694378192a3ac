package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	types "augmentation/gen/footnote/types/v1"

	"golang.org/x/crypto/blake2b"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

var (
	proofShape  = regexp.MustCompile(`^v1\.([0-9a-f]{8})\.(\d{1,12})\.(\d{1,6})\.([m*])\.([A-Za-z0-9+/]{43}=)\.([A-Za-z0-9+/]{43}=)$`)
	longestLife = 3660.0
	skew        = 30.0
)

// door lets in only calls that a service of the deployment proves, with a scope, and with fields as the contract has them.
type door struct {
	stage, id string
	key       []byte
}

func newDoor(stage, secret string) door {
	return door{stage, hex.EncodeToString(derived(secret, "id"))[:8], derived(secret, "key")}
}

func derived(secret, purpose string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("footnote service " + purpose))
	return mac.Sum(nil)
}

type scoped interface{ GetScope() *types.Scope }

func (d door) intercept(ctx context.Context, request any, call *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	message, ok := request.(scoped)
	if !ok { // health, which everybody may ask
		return next(ctx, request)
	}
	incoming, _ := metadata.FromIncomingContext(ctx)
	proven, err := d.verify(incoming.Get("x-footnote-proof"), call.FullMethod)
	if err != nil {
		return nil, err
	}
	scope := message.GetScope()
	if proven != digest(scope) {
		return nil, refusal(unauthenticated, "SCOPE_INVALID", "The proof is for another scope")
	}
	if scope.GetTenantId() == "" || scope.GetUserId() == "" {
		return nil, refusal(unauthenticated, "SCOPE_MISSING", "The request carries no scope")
	}
	if fields := violations(request.(proto.Message).ProtoReflect(), ""); len(fields) > 0 {
		return nil, invalid(fields)
	}
	return next(ctx, request)
}

// verify returns the digest of the scope that a proof is for.
func (d door) verify(proofs []string, method string) (string, error) {
	if len(proofs) != 1 {
		return "", refusal(unauthenticated, "SCOPE_INVALID", "The call carries no proof of a service")
	}
	match := proofShape.FindStringSubmatch(proofs[0])
	if match == nil || match[1] != d.id {
		return "", refusal(unauthenticated, "SCOPE_INVALID", "The proof is malformed, or of a stranger")
	}
	if match[4] == "*" {
		method = "*"
	}
	head := proofs[0][:strings.LastIndex(proofs[0], ".")]
	mac, _ := blake2b.New256(d.key)
	fmt.Fprintf(mac, "%s\n%s\n%s", head, d.stage, method)
	given, _ := base64.StdEncoding.DecodeString(match[6])
	issued, _ := strconv.ParseFloat(match[2], 64)
	life, _ := strconv.ParseFloat(match[3], 64)
	now := float64(time.Now().UnixMilli()) / 1000
	if !hmac.Equal(mac.Sum(nil), given) || issued > now+skew || life > longestLife || now > issued+life {
		return "", refusal(unauthenticated, "SCOPE_INVALID", "The proof is not for this call, not from here, or too old")
	}
	return match[5], nil
}

func digest(scope *types.Scope) string {
	content, _ := proto.MarshalOptions{Deterministic: true}.Marshal(scope)
	sum := blake2b.Sum256(content)
	return base64.StdEncoding.EncodeToString(sum[:])
}
