import { X509Certificate } from 'node:crypto'

import { describe, expect, it } from 'vitest'

import {
  bundleOf,
  type Certificates,
  validityOf,
  renewCertificates,
  type CertificateOptions,
} from '../../../worker/webhook/certificates.ts'

const NOW = Date.parse('2026-03-01T00:00:00Z')
const DAY_MS = 86_400_000
const WANTED: CertificateOptions = {
  names: ['pawl-webhook.pawl.svc'],
  certificateLifetimeMs: 30 * DAY_MS,
  authorityLifetimeMs: 365 * DAY_MS,
  settleMs: 3_600_000,
}

describe('the certificates of the webhook', () => {
  it('are created for the given names, with an own authority', async () => {
    const made = await renewCertificates(undefined, WANTED, NOW)
    const serving = new X509Certificate(made.serving.certificate)
    expect(serving.checkHost('pawl-webhook.pawl.svc')).toBe('pawl-webhook.pawl.svc')
    expect(isTrusted(made, made)).toBe(true)
    expect(new X509Certificate(made.authorities[0]?.certificate ?? '').ca).toBe(true)
    expect(serving.ca).toBe(false)
  })

  it('may be for an IP address', async () => {
    const made = await renewCertificates(undefined, { ...WANTED, names: ['127.0.0.1'] }, NOW)
    expect(new X509Certificate(made.serving.certificate).checkIP('127.0.0.1')).toBe('127.0.0.1')
  })

  it('stay unchanged while more than a third of the lifetime is left', async () => {
    const made = await renewCertificates(undefined, WANTED, NOW)
    expect(await renewCertificates(made, WANTED, NOW + 19 * DAY_MS)).toBe(made)
  })

  it('get a new serving certificate from the same authority when a third is left', async () => {
    const made = await renewCertificates(undefined, WANTED, NOW)
    const next = await renewCertificates(made, WANTED, NOW + 21 * DAY_MS)
    expect(next.serving).not.toEqual(made.serving)
    expect(next.authorities).toEqual(made.authorities)
    expect(isTrusted(next, made)).toBe(true)
  })

  it('get a new serving certificate for another name', async () => {
    const made = await renewCertificates(undefined, WANTED, NOW)
    const next = await renewCertificates(made, { ...WANTED, names: ['other.pawl.svc'] }, NOW + 1000)
    expect(new X509Certificate(next.serving.certificate).checkHost('other.pawl.svc')).toBe('other.pawl.svc')
  })

  it('get a second authority when a third of the first is left; it signs nothing before all clients know it', async () => {
    const made = await renewCertificates(undefined, WANTED, NOW)
    const later = NOW + 250 * DAY_MS
    const young = await renewCertificates(made, WANTED, later)
    expect(young.authorities).toHaveLength(2)
    expect(isTrusted(young, made)).toBe(true)
    const settled = await renewCertificates(young, WANTED, later + 21 * DAY_MS)
    expect(isTrusted(settled, { ...made, authorities: young.authorities.slice(0, 1) })).toBe(true)
    expect(isTrusted(settled, made)).toBe(false)
  })

  it('lose an expired authority', async () => {
    const made = await renewCertificates(undefined, WANTED, NOW)
    const young = await renewCertificates(made, WANTED, NOW + 300 * DAY_MS)
    const after = await renewCertificates(young, WANTED, NOW + 366 * DAY_MS)
    expect(after.authorities).toEqual(young.authorities.slice(0, 1))
  })

  it('are always trusted by a client with the previous bundle, over two lifetimes of an authority', async () => {
    const wanted = { ...WANTED, certificateLifetimeMs: 60_000, authorityLifetimeMs: 300_000, settleMs: 10_000 }
    let found = await renewCertificates(undefined, wanted, NOW)
    const served = new Set<string>()
    for (let now = NOW + 5000; now < NOW + 600_000; now += 5000) {
      const next = await renewCertificates(found, wanted, now)
      expect(isTrusted(next, found), `after ${now - NOW} ms`).toBe(true)
      // A client that has not looked since still has the previous bundle.
      expect(isTrusted(found, next), `before ${now - NOW} ms`).toBe(true)
      expect(validityOf(next.serving).to).toBeGreaterThan(now + 15_000)
      served.add(next.serving.certificate)
      found = next
    }
    expect(served.size).toBeGreaterThan(10)
  }, 60_000)
})

/** True if the serving certificate is signed by an authority of the second bundle. */
function isTrusted({ serving }: Certificates, trusting: Certificates): boolean {
  const certificate = new X509Certificate(serving.certificate)
  return bundleOf(trusting)
    .split(/(?=-----BEGIN)/)
    .some((pem) => certificate.verify(new X509Certificate(pem).publicKey))
}
