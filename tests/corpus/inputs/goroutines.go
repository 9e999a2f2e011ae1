// SPDX-License-Identifier: Apache-2.0

// Run by the corpus for Go: goroutines, channels, maps, the collector, timers, a panic, loopback sockets.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"
)

type tree struct{ left, right *tree }

func grow(depth int) *tree {
	if depth == 0 {
		return &tree{}
	}
	return &tree{grow(depth - 1), grow(depth - 1)}
}

func (t *tree) count() int {
	if t.left == nil {
		return 1
	}
	return 1 + t.left.count() + t.right.count()
}

func echo() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err.Error()
	}
	go func() {
		connection, _ := listener.Accept()
		io.Copy(connection, connection)
		connection.Close()
	}()
	connection, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return err.Error()
	}
	fmt.Fprint(connection, "through a socket")
	connection.(*net.TCPConn).CloseWrite()
	answer, _ := io.ReadAll(connection)
	return string(answer)
}

func main() {
	var group sync.WaitGroup
	var lock sync.Mutex
	counts := map[int]int{}
	for i := 0; i < 50; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			for k := 0; k < 100; k++ {
				lock.Lock()
				counts[k%13] += i
				lock.Unlock()
				runtime.Gosched()
			}
		}(i)
	}
	group.Wait()
	keys := []int{}
	for key := range counts {
		keys = append(keys, key)
	}
	sort.Ints(keys)
	for _, key := range keys {
		fmt.Print(key, ":", counts[key], " ")
	}
	fmt.Println()
	for i := 0; i < 3; i++ {
		fmt.Println(grow(12 + i).count())
		runtime.GC()
	}
	select {
	case <-time.After(20 * time.Millisecond):
		fmt.Println("timer")
	}
	func() {
		defer func() { fmt.Println("recovered:", recover()) }()
		var nothing *tree
		fmt.Println(nothing.count())
	}()
	arrived := make(chan os.Signal, 1)
	signal.Notify(arrived, syscall.SIGUSR1)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	fmt.Println(<-arrived)
	fmt.Println(echo())
	out, err := exec.Command("sh", "-c", "echo child; exit 3").Output()
	fmt.Println(strings.TrimSpace(string(out)), err)
}
