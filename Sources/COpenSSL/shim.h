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
