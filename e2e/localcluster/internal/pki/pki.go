package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// validity is long enough that nobody meets an expired certificate in a test cluster.
const validity = 10 * 365 * 24 * time.Hour

// Identity is one certificate: who it names and where it may serve.
type Identity struct {
	// Name is the file's base name; User and Groups are what Kubernetes sees.
	Name   string
	User   string
	Groups []string
	// IPs and DNS make it a server certificate as well.
	IPs []string
	DNS []string
}

// CertFile is the path of an identity's certificate in dir.
func CertFile(dir, name string) string { return filepath.Join(dir, name+".crt") }

// KeyFile is the path of an identity's key in dir.
func KeyFile(dir, name string) string { return filepath.Join(dir, name+".key") }

// Authority is the name under which the CA is stored.
const Authority = "ca"

// ServiceAccounts is the name under which the token-signing key pair is stored.
const ServiceAccounts = "service-accounts"

// Ensure writes all certificates to dir unless they are there already. The
// folder appears in one step, so that an interrupted run leaves no half of it.
func Ensure(dir string, identities []Identity) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	temporary := dir + ".new"
	if err := os.RemoveAll(temporary); err != nil {
		return fmt.Errorf("clear %s: %w", temporary, err)
	}
	if err := os.MkdirAll(temporary, 0o700); err != nil {
		return fmt.Errorf("make the folder of the certificates: %w", err)
	}
	if err := writeAll(temporary, identities); err != nil {
		return err
	}
	if err := os.Rename(temporary, dir); err != nil {
		return fmt.Errorf("put the certificates in place: %w", err)
	}
	return nil
}

// Add writes one more certificate to a folder that Ensure has made, unless it is there already.
func Add(dir string, identity Identity) error {
	if _, err := os.Stat(CertFile(dir, identity.Name)); err == nil {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(CertFile(dir, Authority), KeyFile(dir, Authority))
	if err != nil {
		return fmt.Errorf("load the authority: %w", err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return fmt.Errorf("the authority's key is %T: want one that Ensure made", pair.PrivateKey)
	}
	_, err = sign(dir, identity.Name, leaf(identity, time.Now().UnixNano()), pair.Leaf, key)
	return err
}

func writeAll(dir string, identities []Identity) error {
	ca, caKey, err := authority(dir)
	if err != nil {
		return err
	}
	if err := tokenKeys(dir); err != nil {
		return err
	}
	for i, identity := range identities {
		template := leaf(identity, int64(i)+2)
		if _, err := sign(dir, identity.Name, template, ca, caKey); err != nil {
			return err
		}
	}
	return nil
}

func authority(dir string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "genericjob-local-cluster"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageCRLSign,
	}
	key, err := sign(dir, Authority, template, nil, nil)
	return template, key, err
}

func leaf(identity Identity, serial int64) *x509.Certificate {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: identity.User, Organization: identity.Groups},
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		DNSNames:     identity.DNS,
	}
	for _, ip := range identity.IPs {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(ip))
	}
	if len(identity.IPs) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	return template
}

// sign makes a key, signs the template (with itself if ca is nil) and stores both.
func sign(dir, name string, template, ca *x509.Certificate, caKey *ecdsa.PrivateKey) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of %s: %w", name, err)
	}
	if ca == nil {
		ca, caKey = template, key
	}
	// An hour back, because the clock of a virtual machine may step after boot.
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = template.NotBefore.Add(validity)
	der, err := x509.CreateCertificate(rand.Reader, template, ca, &key.PublicKey, caKey)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of %s: %w", name, err)
	}
	if err := writePEM(CertFile(dir, name), "CERTIFICATE", der); err != nil {
		return nil, err
	}
	return key, writeKey(KeyFile(dir, name), key)
}

func tokenKeys(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the key for ServiceAccount tokens: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return fmt.Errorf("encode the key for ServiceAccount tokens: %w", err)
	}
	if err := writePEM(filepath.Join(dir, ServiceAccounts+".pub"), "PUBLIC KEY", public); err != nil {
		return err
	}
	return writeKey(KeyFile(dir, ServiceAccounts), key)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return writePEM(path, "EC PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	content := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
