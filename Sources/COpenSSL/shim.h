#pragma once
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/* Macros that Swift does not import. */
static const unsigned long oriel_op_no_query_mtu = SSL_OP_NO_QUERY_MTU;
static const unsigned long oriel_op_no_renegotiation = SSL_OP_NO_RENEGOTIATION;
static const unsigned long oriel_op_no_ticket = SSL_OP_NO_TICKET;

static inline EVP_PKEY *oriel_p256_key(void) { return EVP_EC_gen("P-256"); }
static inline long oriel_set_mtu(SSL *ssl, long bytes) { return SSL_set_mtu(ssl, bytes); }
static inline long oriel_set_groups(SSL_CTX *context, const char *groups) {
    return SSL_CTX_set1_groups_list(context, groups);
}
/* 1 and the time left when a flight waits for an answer. */
static inline long oriel_dtls_timeout(SSL *ssl, struct timeval *left) { return DTLSv1_get_timeout(ssl, left); }
static inline long oriel_dtls_handle_timeout(SSL *ssl) { return DTLSv1_handle_timeout(ssl); }

/* A certificate for a key (RFC 5280) that is its own issuer, with a random serial number, valid from yesterday until so many seconds from
 * now, and as yet without extensions and signature; NULL without memory. */
static inline X509 *oriel_own_certificate(EVP_PKEY *key, const char *name, long lifetime) {
    X509 *certificate = X509_new();
    if (!certificate) return NULL;
    uint32_t serial = 0;
    RAND_bytes((unsigned char *)&serial, sizeof serial);
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), (long)(serial >> 1) + 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -24 * 3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), lifetime);
    X509_NAME *subject = X509_get_subject_name(certificate);
    /* A length of -1 is that of the text; a place of -1 is the end. */
    if (X509_NAME_add_entry_by_txt(subject, "CN", V_ASN1_UTF8STRING, (const unsigned char *)name, -1, -1, 0) == 1 &&
        X509_set_issuer_name(certificate, subject) == 1 && X509_set_pubkey(certificate, key) == 1)
        return certificate;
    X509_free(certificate);
    return NULL;
}
