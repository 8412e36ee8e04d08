import { createHash } from 'node:crypto'
import { BlueprintError } from '../render/render-errors.ts'
import type { ResourceContent } from '../render/blueprint/component-scope.ts'
import type { DigestSpec } from './normalise.ts'
import { HASHES } from './verify-signature.ts'

const BLOB = 'genericBlobDigest/v1'
const ARTEFACT = ['ociArtifactDigest/v1', 'ociArtefactDigest/v1']

/**
 * Verifies the content of a resource against its verified digests. Pure. Source: OCM v0.11.0, ocm/digester/digesters/{blob,artifact}.
 *
 * @param place of the resource, for messages.
 * @throws BlueprintError `UntrustedContent` with the computed and the expected digest.
 */
export function checkContent(content: ResourceContent, digests: readonly DigestSpec[], place: string): void {
  // A resource without access has no digest, and no content either.
  if (digests.length === 0) refuse(`${place}: found no digest that was verified, expected one`)
  for (const digest of digests) checkOne(content, digest, place)
}

function checkOne(content: ResourceContent, digest: DigestSpec, place: string): void {
  const { hashAlgorithm, normalisationAlgorithm, value } = digest
  if (hashAlgorithm === 'NO-DIGEST')
    refuse(`${place}: found it excluded from the signature (NO-DIGEST), expected a digest`)
  const hash = Object.hasOwn(HASHES, hashAlgorithm) ? HASHES[hashAlgorithm] : undefined
  const bytes = bytesOf(content, normalisationAlgorithm)
  if (hash === undefined || bytes === undefined) {
    const what = 'folder' in content ? 'a folder' : 'content'
    const found = `found ${what} with the digest ${hashAlgorithm.slice(0, 50)}, ${normalisationAlgorithm.slice(0, 50)}`
    refuse(`${place}: ${found}; expected a file with ${BLOB}, or an artefact with ${ARTEFACT[0] ?? ''}`)
  }
  const found = createHash(hash).update(bytes).digest('hex')
  if (found !== value.toLowerCase()) refuse(`${place}: found content of the digest ${found}, expected ${value}`)
}

function bytesOf(content: ResourceContent, normalisation: string): Buffer | undefined {
  if ('folder' in content) return undefined
  // The digest of an artefact's manifest covers its layers, which are read by their digests.
  if (ARTEFACT.includes(normalisation)) return content.manifest
  return normalisation === BLOB ? content.bytes : undefined
}

function refuse(message: string): never {
  throw new BlueprintError('UntrustedContent', message)
}
