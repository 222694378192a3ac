package main

import (
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Every case of the file named on the command line; exit code 1 when one comes out otherwise.
func main() {
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	names := strings.Split(lines[0], "\t")
	failed := 0
	for _, line := range lines[1:] {
		vector := map[string]string{}
		for at, value := range strings.Split(line, "\t") {
			vector[names[at]] = value
		}
		if problem := try(vector); problem != "" {
			failed++
			fmt.Printf("%s: %s\n", vector["name"], problem)
		}
	}
	fmt.Printf("%d vectors, %d failed\n", len(lines)-1, failed)
	if failed > 0 {
		os.Exit(1)
	}
}

// try returns what is wrong, or nothing.
func try(vector map[string]string) string {
	var keys []proofKey
	for _, secret := range strings.Split(vector["secrets"], ",") {
		keys = append(keys, newProofKey(secret))
	}
	now, _ := strconv.ParseInt(vector["now"], 10, 64)
	proof, stage, method := vector["proof"], vector["audience"], vector["method"]
	scope, err := verifyProof(keys, proof, stage, method, now)
	if vector["result"] == "refuse" {
		if err == nil {
			return "it was accepted"
		}
		return ""
	}
	if err != nil || hex.EncodeToString(scope) != vector["scope"] {
		return fmt.Sprintf("it was refused, or has scope %x", scope)
	}
	// Signed again with the same key and times it is the same.
	parts := strings.Split(proof, ".")
	issued, _ := strconv.ParseInt(parts[2], 10, 64)
	expires, _ := strconv.ParseInt(parts[3], 10, 64)
	if parts[4] == everyMethod {
		method = everyMethod
	}
	for _, key := range keys {
		if key.id == parts[1] && signProof(key, stage, method, scope, issued, expires) == proof {
			return ""
		}
	}
	return "signed again it is another"
}
