package main

import "math/rand/v2"

const (
	features     = 8
	shardSamples = 4000
	noise        = 0.01
	// learningRate is low so that the loss falls over about a hundred steps, which a person can watch.
	learningRate = 0.02
	// targetLoss is ten times the noise's variance: what is left there is mostly noise.
	targetLoss = 10 * noise * noise
)

// truth is the model that the data is made from and that the training is to find.
var truth = [features]float64{3, -2, 1, -1, 0.5, 2, -0.5, 1.5}

// sample is one observation: y = truth . x + noise.
type sample struct {
	x [features]float64
	y float64
}

// shard makes the data of one worker: always the same for a rank, so that a restarted worker goes on with it.
func shard(rank int) []sample {
	random := rand.New(rand.NewPCG(2025, uint64(rank))) //nolint:gosec // the data must repeat, not surprise
	samples := make([]sample, shardSamples)
	for i := range samples {
		s := &samples[i]
		for j := range s.x {
			s.x[j] = random.NormFloat64()
			s.y += truth[j] * s.x[j]
		}
		s.y += noise * random.NormFloat64()
	}
	return samples
}

// gradientOf is the mean squared error of the weights on the samples, and its gradient.
func gradientOf(samples []sample, weights []float64) (loss float64, gradient []float64) {
	gradient = make([]float64, features)
	for _, s := range samples {
		difference := -s.y
		for j, x := range s.x {
			difference += weights[j] * x
		}
		loss += difference * difference
		for j, x := range s.x {
			gradient[j] += 2 * difference * x
		}
	}
	count := float64(len(samples))
	for j := range gradient {
		gradient[j] /= count
	}
	return loss / count, gradient
}
