// Verifies that a signature's certificate chain leads to a trusted authority. Pure. Source: OCM v0.11.0, signing/signutils/certs.go; RFC 5280.
//
//   T1. The chain must be valid at the start of the signer's certificate: signatures outlive certificates, and no trusted source says when they were
//       made.
//   T2. A certificate with an unknown critical extension is invalid.

import 'reflect-metadata'
import type { X509Certificate } from 'node:crypto'
import {
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  X509Certificate as Extended,
} from '@peculiar/x509'

/** The maximum length of a chain. */
export const MAX_CERTIFICATES = 10
const KNOWN_EXTENSIONS = ['2.5.29.15', '2.5.29.17', '2.5.29.19', '2.5.29.35', '2.5.29.14', '2.5.29.37']
/** The minimum size of RSA keys. */
const MIN_RSA_BITS = 2048
/** Algorithms without known collisions. */
const STRONG_ALGORITHMS = /sha(?:256|384|512)|^ed(?:25519|448)$/i
const CODE_SIGNING = '1.3.6.1.5.5.7.3.3'
const ANY_USAGE = '2.5.29.37.0'

/**
 * @param chain the signer's certificate first.
 * @returns the problem, which continues "its certificate: "; undefined for a valid chain.
 */
export function chainProblem(
  chain: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
): string | undefined {
  const [signer, ...others] = chain
  if (signer === undefined) return 'found no certificate; expected one'
  if (chain.length > MAX_CERTIFICATES) return `found a chain of ${chain.length}; expected at most ${MAX_CERTIFICATES}`
  const at = signer.validFromDate
  let [below, between] = [signer, 0]
  for (;;) {
    const problem = ownProblem(below, at)
    if (problem !== undefined) return problem
    if (authorities.some(({ raw }) => raw.equals(below.raw))) return undefined
    const by = (one: X509Certificate) => issued(one, below)
    const trusted = authorities.find(by)
    if (trusted !== undefined) return ownProblem(trusted, at, false) ?? issuerProblem(trusted, between)
    const next = others.find((one) => by(one) && !one.raw.equals(below.raw))
    if (next === undefined) return `${nameOf(below)} is issued by ${nameOf(below, 'issuer')}, which is not trusted`
    const unfit = issuerProblem(next, between)
    if (unfit !== undefined) return unfit
    below = next
    between += 1
    if (between > MAX_CERTIFICATES) return 'found a ring; expected a chain'
  }
}

function issued(issuer: X509Certificate, subject: X509Certificate): boolean {
  return (
    subject.checkIssued(issuer) &&
    STRONG_ALGORITHMS.test(subject.signatureAlgorithm ?? '') &&
    subject.verify(issuer.publicKey)
  )
}

function ownProblem(certificate: X509Certificate, at: Date, isSigning = true): string | undefined {
  const name = nameOf(certificate)
  if (certificate.validFromDate > at || certificate.validToDate < at)
    return `${name} was not valid at ${at.toISOString()}, when the signer's certificate became valid`
  const unknown = new Extended(certificate.raw).extensions.find(
    ({ critical, type }) => critical && !KNOWN_EXTENSIONS.includes(type),
  )
  if (unknown !== undefined) return `${name} has the critical extension ${unknown.type}, which Pawl does not support`
  // An array in Node, in spite of its declared type.
  const usages = certificate.keyUsage as readonly string[] | undefined
  if (!isSigning || usages === undefined || usages.some((one) => one === CODE_SIGNING || one === ANY_USAGE))
    return undefined
  return `${name} is for ${usages.join(', ')}; expected code signing (${CODE_SIGNING})`
}

/** @param between the number of certificates between this one and the signer's. */
function issuerProblem(certificate: X509Certificate, between: number): string | undefined {
  const name = nameOf(certificate)
  if (!certificate.ca) return `${name} issued a certificate, but is not an authority`
  const { modulusLength = MIN_RSA_BITS } = certificate.publicKey.asymmetricKeyDetails ?? {}
  if (modulusLength < MIN_RSA_BITS) return `${name} has a key of ${modulusLength} bits; expected ${MIN_RSA_BITS}`
  const parsed = new Extended(certificate.raw)
  const usages = parsed.getExtension(KeyUsagesExtension)?.usages
  if (usages !== undefined && (usages & KeyUsageFlags.keyCertSign) === 0) return `${name} may not issue certificates`
  const most = parsed.getExtension(BasicConstraintsExtension)?.pathLength
  return most !== undefined && between > most
    ? `${name} may have ${most} authorities below it, found ${between}`
    : undefined
}

function nameOf(certificate: X509Certificate, whose: 'subject' | 'issuer' = 'subject'): string {
  return JSON.stringify(certificate[whose].replaceAll('\n', ', ').slice(0, 200))
}
