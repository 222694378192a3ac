package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	types "augmentation/gen/footnote/types/v1"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

const (
	domain          = "footnote.types.v1"
	unauthenticated = codes.Unauthenticated
)

// refusal is a status with the ErrorInfo that the contract asks for.
func refusal(code codes.Code, reason, message string) error {
	made, _ := status.New(code, message).WithDetails(&errdetails.ErrorInfo{Domain: domain, Reason: reason})
	return made.Err()
}

// invalid is the refusal of fields, each by its path.
func invalid(fields []string) error {
	bad := &errdetails.BadRequest{}
	for _, field := range fields {
		bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: field, Description: "is not allowed"})
	}
	message := strings.Join(fields[:min(len(fields), 20)], ", ") + " not allowed"
	info := &errdetails.ErrorInfo{Domain: domain, Reason: "INVALID_FIELD"}
	made, _ := status.New(codes.InvalidArgument, message).WithDetails(info, bad)
	return made.Err()
}

// violations are the paths of fields that their contract does not allow: unknown enum numbers, broken bounds.
func violations(message protoreflect.Message, path string) (found []string) {
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		here := path + string(field.Name())
		bounds := boundsOf(field)
		if field.IsMap() {
			return true
		}
		if !field.IsList() {
			found = append(found, wrong(field, bounds, value, here)...)
			return true
		}
		list := value.List()
		if bounds.MaxItems != nil && list.Len() > int(bounds.GetMaxItems()) {
			found = append(found, here)
		}
		for index := range list.Len() {
			found = append(found, wrong(field, bounds, list.Get(index), fmt.Sprintf("%s[%d]", here, index))...)
		}
		return true
	})
	return found
}

func wrong(field protoreflect.FieldDescriptor, bounds *types.Bounds, value protoreflect.Value, path string) []string {
	bad := false
	switch field.Kind() {
	case protoreflect.EnumKind:
		bad = field.Enum().Values().ByNumber(value.Enum()) == nil
	case protoreflect.StringKind:
		bad = bounds.MaxLength != nil && utf8.RuneCountInString(value.String()) > int(bounds.GetMaxLength())
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		bad = outside(float64(value.Int()), bounds)
	case protoreflect.DoubleKind, protoreflect.FloatKind:
		bad = outside(value.Float(), bounds)
	case protoreflect.MessageKind:
		if bounds.MaxBytes != nil && proto.Size(value.Message().Interface()) > int(bounds.GetMaxBytes()) {
			return []string{path}
		}
		if !strings.HasPrefix(string(field.Message().FullName()), "google.") {
			return violations(value.Message(), path+".")
		}
	}
	if bad {
		return []string{path}
	}
	return nil
}

func outside(number float64, bounds *types.Bounds) bool {
	return bounds.Min != nil && !(number >= bounds.GetMin()) || bounds.Max != nil && !(number <= bounds.GetMax())
}

func boundsOf(field protoreflect.FieldDescriptor) *types.Bounds {
	options, _ := field.Options().(*descriptorpb.FieldOptions)
	if bounds, ok := proto.GetExtension(options, types.E_Bounds).(*types.Bounds); ok && bounds != nil {
		return bounds
	}
	return &types.Bounds{}
}
