package main

import (
	"context"
	"strings"
	"time"

	stages "augmentation/gen/footnote/stages/v1"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// door lets in only calls that a service of the deployment proves, with a scope, and with fields as the contract has them.
// The proof is checked by tests/polyglot/proof/go/proof.go, which stands beside this file when it is built.
type door struct {
	stage string
	keys  []proofKey
}

func newDoor(stage, secrets string) door {
	made := door{stage: stage}
	for _, secret := range strings.FieldsFunc(secrets, func(one rune) bool { return one == ',' || one == ' ' }) {
		made.keys = append(made.keys, newProofKey(secret))
	}
	return made
}

type scoped interface{ GetScope() *stages.Scope }

func (d door) intercept(ctx context.Context, request any, call *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	message, ok := request.(scoped)
	if !ok { // health, which everybody may ask
		return next(ctx, request)
	}
	proven, err := d.verify(ctx, call.FullMethod)
	if err != nil {
		return nil, err
	}
	if !sameWhereKnown(message.GetScope(), proven) {
		return nil, refusal(unauthenticated, "SCOPE_INVALID", "The proof is for another scope")
	}
	if proven.GetTenantId() == "" || proven.GetUserId() == "" {
		return nil, refusal(unauthenticated, "SCOPE_MISSING", "The request carries no scope")
	}
	if fields := violations(request.(proto.Message).ProtoReflect(), ""); len(fields) > 0 {
		return nil, invalid(fields)
	}
	return next(ctx, request)
}

// verify returns the scope that the one proof of a call is for.
func (d door) verify(ctx context.Context, method string) (*stages.Scope, error) {
	incoming, _ := metadata.FromIncomingContext(ctx)
	proofs := incoming.Get(proofHeader)
	if len(proofs) != 1 {
		return nil, refusal(unauthenticated, "SCOPE_INVALID", "The call carries no proof of a service, or several")
	}
	content, err := verifyProof(d.keys, proofs[0], d.stage, method, time.Now().Unix())
	if err != nil {
		return nil, refusal(unauthenticated, "SCOPE_INVALID", err.Error())
	}
	proven := &stages.Scope{}
	if proto.Unmarshal(content, proven) != nil {
		return nil, refusal(unauthenticated, "SCOPE_INVALID", "The scope in the proof cannot be read")
	}
	return proven, nil
}

// sameWhereKnown compares two scopes without the fields of later versions.
func sameWhereKnown(message, proven *stages.Scope) bool {
	if message == nil {
		message = &stages.Scope{}
	}
	one, other := proto.Clone(message), proto.Clone(proven)
	one.ProtoReflect().SetUnknown(nil)
	other.ProtoReflect().SetUnknown(nil)
	return proto.Equal(one, other)
}
