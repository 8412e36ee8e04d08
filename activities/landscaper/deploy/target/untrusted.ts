// Detects server certificates that the client does not trust.

// Source: https://nodejs.org/api/tls.html#x509-certificate-error-codes, and the check of names.
const UNTRUSTED: ReadonlySet<unknown> = new Set([
  ...['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID', 'CERT_REJECTED', 'CERT_REVOKED', 'CERT_SIGNATURE_FAILURE'],
  ...['CERT_UNTRUSTED', 'CERT_CHAIN_TOO_LONG', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN'],
  ...['ERR_TLS_CERT_ALTNAME_INVALID', 'HOSTNAME_MISMATCH', 'INVALID_CA', 'INVALID_PURPOSE', 'PATH_LENGTH_EXCEEDED'],
  ...['UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
])

/** Whether a connection failed with this code because the server's certificate is not trusted. */
export function isUntrusted(code: unknown): boolean {
  return UNTRUSTED.has(code)
}
