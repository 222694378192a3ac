// An augmentation stage in Go: small, and good enough to stand beside the others. See ../README.md.
package main

import (
	"fmt"
	"log"
	"net"
	"os"
	"time"

	pb "augmentation/gen/footnote/augmentation/v1"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
)

const serviceName = "footnote.augmentation.v1.AugmentationService"

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	door := newDoor("augmentation", os.Getenv("FOOTNOTE_SERVICE_TOKEN"))
	server := grpc.NewServer(
		grpc.UnaryInterceptor(door.intercept),
		// Services ask every four seconds whether anybody is there; Go's default would send them away for it.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 2 * time.Second, PermitWithoutStream: true}),
	)
	pb.RegisterAugmentationServiceServer(server, stage{})
	checker := health.NewServer()
	checker.SetServingStatus(serviceName, grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(server, checker)
	reflection.Register(server)
	fmt.Println(listener.Addr()) // whoever started us reads where we are
	log.Fatal(server.Serve(listener))
}
