package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// scrapeInterval is how often the operator is scraped in a row that is about that.
const scrapeInterval = 5 * time.Second

// scraped is the row quiet for an operator whose metrics are scraped.
func (b *bench) scraped(ctx context.Context, r row) (out sample, err error) {
	p, err := startPlane(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	s, err := p.newScraper(ctx)
	if err != nil {
		return nil, err
	}
	o, err := b.startOperator(ctx, p, "-metrics-bind-address="+s.address, "-pprof-bind-address="+profileAddress)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.stop()) }()
	before, err := b.restingCosts(ctx, p, o, r)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(b.quietFor); time.Now().Before(end); {
		if err := errors.Join(s.scrape(ctx), pause(ctx, scrapeInterval)); err != nil {
			return nil, err
		}
	}
	after, err := p.costs(ctx, o)
	if err != nil {
		return nil, err
	}
	held, err := o.atRest(ctx)
	if err != nil {
		return nil, err
	}
	by, writes := since(before.writes, after.writes)
	logf("  %s: writes %v", r.name, by)
	return sample{
		"quiet_s": b.quietFor.Seconds(), "quiet_writes": float64(writes), "quiet_cpu_percent": 100 * float64(after.cpu-before.cpu) / float64(b.quietFor),
		"unscraped_mb": before.now, "resident_mb": after.now, "peak_mb": after.peak, "held_mb": held,
		"scrape_s": median(s.seconds), "scrape_max_s": slices.Max(s.seconds), "scrape_kb": float64(s.bytes) / 1e3,
	}, nil
}

// scraper asks an operator for its metrics, as Prometheus does.
type scraper struct {
	address, token string
	client         *http.Client
	seconds        []float64 // that each scrape took
	bytes          int       // of the last answer
}

// newScraper makes one that may scrape, and lets the operator ask who it is.
func (p *plane) newScraper(ctx context.Context) (*scraper, error) {
	if err := p.grant(ctx, "rbac/metrics_roles.yaml"); err != nil {
		return nil, err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "scraper"}}
	request := &authenticationv1.TokenRequest{}
	err := errors.Join(
		p.jobs.Create(ctx, account),
		p.jobs.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "scrape"}, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}}),
		p.jobs.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "scrape"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "scrape"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
		}),
		p.jobs.SubResource("token").Create(ctx, account, request),
	)
	if err != nil {
		return nil, err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer free.Close()
	return &scraper{
		address: free.Addr().String(), token: request.Status.Token,
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}, //nolint:gosec // made again at each start, so nobody can check it
	}, nil
}

func (s *scraper) scrape(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+s.address+"/metrics", nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	start := time.Now()
	response, err := s.client.Do(request)
	if err != nil {
		return fmt.Errorf("scrape the manager: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("scrape the manager: %s: %s", response.Status, text)
	}
	s.seconds, s.bytes = append(s.seconds, time.Since(start).Seconds()), len(text)
	return err
}
