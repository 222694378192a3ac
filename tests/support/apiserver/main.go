// Command apiserver is Kubernetes' own API server with an etcd in the same process, for tests that apply manifests.
//
// The first argument is the folder of etcd; all others are flags of kube-apiserver, which gets --etcd-servers by itself.
package main

import (
	"fmt"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	address, err := store(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	command := app.NewAPIServerCommand()
	command.SetArgs(append(os.Args[2:], "--etcd-servers="+address))
	os.Exit(cli.Run(command))
}

// store starts etcd on ports that the system chooses, and returns its address.
func store(folder string) (string, error) {
	config := embed.NewConfig()
	config.Dir = folder
	config.LogLevel = "error"
	config.UnsafeNoFsync = true
	loopback := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	config.ListenPeerUrls = []url.URL{loopback}
	config.ListenClientUrls = []url.URL{loopback}
	server, err := embed.StartEtcd(config)
	if err != nil {
		return "", err
	}
	<-server.Server.ReadyNotify()
	return "http://" + server.Clients[0].Addr().String(), nil
}
