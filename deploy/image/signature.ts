// Signs an image as cosign does, so that `cosign verify --key` and `cosign verify-attestation --key` accept it.
//
// S1. The signature is over cosign's "simple signing" payload, in an artifact with the tag sha256-DIGEST.sig.
// S2. Provenance (SLSA 1) and the bill of materials (SPDX) are in-toto statements in DSSE envelopes, tag sha256-DIGEST.att.
//
// Sources: sigstore/cosign, specs/SIGNATURE_SPEC.md and ATTESTATION_SPEC.md; secure-systems-lab/dsse, protocol.md.

import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { OciLayout } from './oci-layout.ts'

const PAYLOAD = 'application/vnd.dev.cosign.simplesigning.v1+json'
const ENVELOPE = 'application/vnd.dsse.envelope.v1+json'
const IN_TOTO = 'application/vnd.in-toto+json'

export interface Statement {
  readonly predicateType: string
  readonly predicate: object
}

/** @param path a file with an ECDSA key on P-256, in PKCS #8 and PEM. @throws when it has another key. */
export function readSigningKey(path: string): KeyObject {
  const key = keyIn(readFileSync(path, 'utf8'))
  if (key === undefined) throw new Error(`--key: found no key in PEM format in ${path}`)
  const { asymmetricKeyType: type = '', asymmetricKeyDetails: { namedCurve = '' } = {} } = key
  if (namedCurve !== 'prime256v1') throw new Error(`--key: found a key of type ${type} ${namedCurve}; expected ECDSA on P-256`)
  return key
}

function keyIn(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}

/** @param name the image's repository, which the signature names. */
export function addSignature(layout: OciLayout, key: KeyObject, { digest, name }: { digest: string; name: string }): void {
  const payload = {
    critical: {
      identity: { 'docker-reference': name },
      image: { 'docker-manifest-digest': digest },
      type: 'cosign container image signature',
    },
    optional: null,
  }
  const bytes = Buffer.from(JSON.stringify(payload))
  const annotations = { 'dev.cosignproject.cosign/signature': sign('sha256', bytes, key).toString('base64') }
  layout.addArtifact(tagFor(digest, 'sig'), [{ bytes, mediaType: PAYLOAD, annotations }])
}

export function addAttestations(
  layout: OciLayout,
  key: KeyObject,
  { digest, name, statements }: { digest: string; name: string; statements: readonly Statement[] },
): void {
  const layers = statements.map(({ predicateType, predicate }) => {
    const subject = [{ name, digest: { sha256: digest.slice('sha256:'.length) } }]
    const statement = { _type: 'https://in-toto.io/Statement/v1', subject, predicateType, predicate }
    const payload = Buffer.from(JSON.stringify(statement))
    const signature = sign('sha256', preAuthenticationEncoding(payload), key).toString('base64')
    const envelope = { payloadType: IN_TOTO, payload: payload.toString('base64'), signatures: [{ sig: signature }] }
    const annotations = { 'dev.cosignproject.cosign/signature': '', predicateType }
    return { bytes: Buffer.from(JSON.stringify(envelope)), mediaType: ENVELOPE, annotations }
  })
  layout.addArtifact(tagFor(digest, 'att'), layers)
}

/** The bytes that a DSSE signature covers. */
export function preAuthenticationEncoding(payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`DSSEv1 ${IN_TOTO.length} ${IN_TOTO} ${payload.length} `), payload])
}

/** `sha256-abc.sig` */
function tagFor(digest: string, end: 'sig' | 'att'): string {
  return `${digest.replace(':', '-')}.${end}`
}
