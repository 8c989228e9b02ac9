// The load of enqueue() with franz-go: main HOST:PORT,... TOPIC SECONDS VALUE_BYTES KEYS COMPRESSION. Prints JSON. KEYS 0: none.
// COMPRESSION: none, zstd or lz4; then the values are JSON instead of one letter.
package main

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	seconds, _ := strconv.Atoi(os.Args[3])
	valueBytes, _ := strconv.Atoi(os.Args[4])
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(os.Args[1], ",")...),
		kgo.DefaultProduceTopic(os.Args[2]),
		kgo.ProducerBatchCompression(codecs[os.Args[6]]),
	)
	if err != nil {
		panic(err)
	}
	keys, _ := strconv.Atoi(os.Args[5])
	values := make([][]byte, 1)
	if os.Args[6] != "none" {
		values = make([][]byte, 1000)
	}
	for i := range values {
		values[i] = jsonValue(valueBytes, len(values) > 1)
	}
	keyTexts := make([][]byte, keys)
	for i := range keyTexts {
		keyTexts[i] = []byte(fmt.Sprintf("account-%d", i))
	}
	next := 0
	record := func() *kgo.Record {
		next++
		r := &kgo.Record{Value: values[next%len(values)]}
		if keys > 0 {
			r.Key = keyTexts[next%keys]
		}
		return r
	}
	ctx := context.Background()
	var acknowledged atomic.Int64
	run := func(length time.Duration) float64 {
		acknowledged.Store(0)
		start := time.Now()
		for time.Since(start) < length {
			for i := 0; i < 1000; i++ {
				client.Produce(ctx, record(), func(_ *kgo.Record, err error) {
					if err == nil {
						acknowledged.Add(1)
					}
				})
			}
		}
		if err := client.Flush(ctx); err != nil {
			panic(err)
		}
		return float64(acknowledged.Load()) / time.Since(start).Seconds()
	}
	run(2 * time.Second)
	bestRate, bestCpu := 0.0, 0.0
	for passed := 0; passed < seconds; passed++ {
		var before, after syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &before)
		rate := run(time.Second)
		syscall.Getrusage(syscall.RUSAGE_SELF, &after)
		if rate > bestRate {
			bestRate = rate
			bestCpu = (cpuSeconds(&after) - cpuSeconds(&before)) * 1e9 / float64(acknowledged.Load())
		}
	}
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	fmt.Printf("{\"recordsPerSecond\":%.0f,\"refused\":0,\"cpuNsPerRecord\":%.0f,\"rssMiB\":%d}\n",
		bestRate, bestCpu, usage.Maxrss/1024)
	client.Close()
}

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(),
	"zstd": kgo.ZstdCompression(),
	"lz4":  kgo.Lz4Compression(),
}

func cpuSeconds(u *syscall.Rusage) float64 {
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func jsonValue(size int, isVaried bool) []byte {
	if !isVaried {
		return []byte(strings.Repeat("x", size))
	}
	text := "{"
	for i := 0; len(text) < size; i++ {
		text += fmt.Sprintf("\"field%d\":\"%08x\",", i, rand.Uint32())
	}
	return []byte(text[:size])
}
