// Creates and renews the webhook's certificates: its own certificate authorities and the serving certificate that they
// sign. Pure except for random numbers; the clock is a parameter.
//
//   C1. A client that trusts all `authorities` trusts every serving certificate that may be in use.
//   C2. A new authority signs nothing for `settleMs`, so that API servers can load it first. Only when no authority is
//       that old, as at the first start, the oldest one signs, because API servers have had the most time
//       to load it.
//   C3. A serving certificate expires no later than the authority that signed it.
//   C4. A certificate is renewed when less than a third of its lifetime is left. A serving certificate is also replaced
//       when it lacks a configured name or when no authority in the list has signed it.
//   C5. Expired authorities are removed from the list.

import 'reflect-metadata'
import { X509Certificate as Parsed, randomBytes, webcrypto } from 'node:crypto'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'

import { isIPAddress } from './flags.ts'

/** A certificate and its private key, both in PEM. */
export interface Pair {
  readonly certificate: string
  readonly key: string
}

export interface Certificates {
  /** Newest first. */
  readonly authorities: readonly Pair[]
  readonly serving: Pair
}

export interface CertificateOptions {
  /** DNS names and IP addresses of the webhook. */
  readonly names: readonly string[]
  /** Lifetime of a serving certificate. */
  readonly certificateLifetimeMs: number
  /** Lifetime of an authority. */
  readonly authorityLifetimeMs: number
  /** Minimum age of an authority that signs (C2). */
  readonly settleMs: number
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
/** A certificate is valid from this long before its creation, so that API servers whose clock is late accept it too. */
const SKEW_MS = 60_000

/** All authorities as one PEM text, for `caBundle` of the webhook configurations. */
export function bundleOf({ authorities }: Certificates): string {
  return authorities.map(({ certificate }) => `${certificate.trim()}\n`).join('')
}

/**
 * The certificates for this time (milliseconds): renews those that need it (C4) and removes expired authorities (C5).
 *
 * @param stored the stored certificates; undefined if none exist yet.
 * @returns `stored` itself if nothing changes, so that the caller need not store it.
 */
export async function renewCertificates(
  stored: Certificates | undefined,
  options: CertificateOptions,
  now: number,
): Promise<Certificates> {
  const valid = (stored?.authorities ?? []).filter((one) => remainingMs(one, now) > 0)
  const isDue = valid[0] === undefined || needsRenewal(valid[0], now)
  const authorities = isDue ? [await makeAuthority(options.authorityLifetimeMs, now), ...valid] : valid
  const isServingUsable = stored !== undefined && isUsable(stored.serving, authorities, options.names, now)
  if (isServingUsable && !isDue && valid.length === stored.authorities.length) return stored
  if (isServingUsable) return { authorities, serving: stored.serving }
  // `from + SKEW_MS` is the time of creation.
  const settled = authorities.find((one) => validityOf(one).from + SKEW_MS + options.settleMs <= now)
  const signer = settled ?? authorities.at(-1)
  if (signer === undefined) throw new Error('the certificate authority is missing')
  return { authorities, serving: await issueServing(signer, options, now) }
}

/** True if all certificates can be parsed and all keys look like private keys in PEM. */
export function isComplete({ authorities, serving }: Certificates): boolean {
  return [...authorities, serving].every(
    ({ certificate, key }) => isReadable(certificate) && key.includes('PRIVATE KEY'),
  )
}

function isReadable(certificate: string): boolean {
  try {
    new Parsed(certificate)
    return true
  } catch {
    return false
  }
}

function isUsable(serving: Pair, authorities: readonly Pair[], names: readonly string[], now: number): boolean {
  const parsed = new Parsed(serving.certificate)
  const isSigned = authorities.some(({ certificate }) => parsed.verify(new Parsed(certificate).publicKey))
  const isNamed = names.every((name) =>
    isIPAddress(name) ? parsed.checkIP(name) !== undefined : parsed.checkHost(name) !== undefined,
  )
  return isSigned && isNamed && !needsRenewal(serving, now)
}

/** True if less than a third of the lifetime is left (C4); the lifetime starts at the creation. */
function needsRenewal(pair: Pair, now: number): boolean {
  const { from, to } = validityOf(pair)
  return to - now < (to - from - SKEW_MS) / 3
}

function remainingMs(pair: Pair, now: number): number {
  return validityOf(pair).to - now
}

/** Start and end of validity in milliseconds. */
export function validityOf({ certificate }: Pair): { readonly from: number; readonly to: number } {
  const { validFrom, validTo } = new Parsed(certificate)
  return { from: Date.parse(validFrom), to: Date.parse(validTo) }
}

async function makeAuthority(lifetimeMs: number, now: number): Promise<Pair> {
  const keys = await newKeys()
  const certificate = await X509CertificateGenerator.createSelfSigned({
    // The name is unique, so that a lookup of the issuer by name finds one certificate.
    name: `CN=pawl-webhook-${randomBytes(4).toString('hex')}`,
    serialNumber: serial(),
    keys,
    signingAlgorithm: ALGORITHM,
    notBefore: new Date(now - SKEW_MS),
    notAfter: new Date(now + lifetimeMs),
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ],
  })
  return await pairOf(certificate, keys)
}

async function issueServing(
  authority: Pair,
  { names, certificateLifetimeMs }: CertificateOptions,
  now: number,
): Promise<Pair> {
  const keys = await newKeys()
  const signingKey = await webcrypto.subtle.importKey(
    'pkcs8',
    PemConverter.decodeFirst(authority.key),
    ALGORITHM,
    false,
    ['sign'],
  )
  const notAfter = new Date(Math.min(now + certificateLifetimeMs, validityOf(authority).to))
  const certificate = await X509CertificateGenerator.create({
    subject: `CN=pawl-webhook`,
    issuer: new X509Certificate(authority.certificate).subject,
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: ALGORITHM,
    serialNumber: serial(),
    notBefore: new Date(now - SKEW_MS),
    notAfter,
    extensions: [
      new SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIPAddress(value) ? ('ip' as const) : ('dns' as const), value })),
      ),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
    ],
  })
  return await pairOf(certificate, keys)
}

async function pairOf(certificate: X509Certificate, keys: webcrypto.CryptoKeyPair): Promise<Pair> {
  const key = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)
  return { certificate: certificate.toString('pem'), key: PemConverter.encode(key, 'PRIVATE KEY') }
}

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
}

/** 16 bytes; the first one makes the number positive. */
function serial(): string {
  return `01${randomBytes(15).toString('hex')}`
}
