// Signs component descriptors for tests without the OCM command line, with Pawl's implementation of the normal form.
// test/env/ocm-registry.test.ts compares this implementation with OCM's.

import { constants, createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import {
  type DigestSpec,
  type Digests,
  normalForms,
  type Normalisation,
} from '../../../activities/landscaper/components/normalise.ts'
import { readComponent } from '../../../activities/landscaper/render/blueprint/component-descriptor.ts'

export const SIGNATURE = 'acme-release'
export const RSA = 'application/vnd.ocm.signature.rsa'

export function newKeys(bits = 2048) {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: bits })
  return { privateKey, publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString() }
}

export interface How {
  readonly key: KeyObject
  readonly name?: string
  readonly normalisation?: Normalisation
  readonly hash?: 'sha256' | 'sha512'
  readonly isPss?: boolean
}

const HASH_NAMES = { sha256: 'SHA-256', sha512: 'SHA-512' }

export function blobDigest(content: string | Buffer): DigestSpec {
  const value = createHash('sha256').update(content).digest('hex')
  return { hashAlgorithm: 'SHA-256', normalisationAlgorithm: 'genericBlobDigest/v1', value }
}

/** The digest of the component, for references to it. */
export function digestOf(document: object): DigestSpec {
  const normalisation = 'jsonNormalisation/v2'
  const value = createHash('sha256').update(textOf(document, normalisation)).digest('hex')
  return { hashAlgorithm: 'SHA-256', normalisationAlgorithm: normalisation, value }
}

/** The descriptor with one more signature. */
export function signed(document: object, how: How): object {
  const { key, name = SIGNATURE, normalisation = 'jsonNormalisation/v2', hash = 'sha256', isPss = false } = how
  const text = textOf(document, normalisation)
  const digest = {
    hashAlgorithm: HASH_NAMES[hash],
    normalisationAlgorithm: normalisation,
    value: createHash(hash).update(text).digest('hex'),
  }
  const padding = isPss ? constants.RSA_PKCS1_PSS_PADDING : constants.RSA_PKCS1_PADDING
  const bytes = sign(hash, Buffer.from(text), { key, padding })
  const algorithm = isPss ? 'RSASSA-PSS' : 'RSASSA-PKCS1-V1_5'
  const signature = { algorithm, mediaType: `${RSA}${isPss ? '.pss' : ''}`, value: bytes.toString('hex') }
  const { signatures = [] } = document as { signatures?: readonly object[] }
  return { ...document, signatures: [...signatures, { name, digest, signature }] }
}

function textOf(document: object, normalisation: Normalisation): string {
  const component = readComponent(document, 'test')
  return normalForms(component, normalisation, digestsIn(document))[0] ?? ''
}

interface Entry {
  readonly digest?: DigestSpec
}
interface Lists {
  readonly resources?: readonly Entry[]
  readonly references?: readonly Entry[]
  readonly componentReferences?: readonly Entry[]
}

function digestsIn(document: object): Digests {
  const { component, spec } = document as { component?: Lists; spec?: Lists }
  const { resources = [], componentReferences = [], references = componentReferences } = component ?? spec ?? {}
  return { resources: resources.map(({ digest }) => digest), references: references.map(({ digest }) => digest) }
}
