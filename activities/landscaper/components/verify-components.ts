// Verifies the signature of a component version and the digests of all referenced components. Source: spec/landscaper.md 3.13; OCM v0.11.0,
// ocm/signing/handle.go, digestctx.go.
//
//   D1. The signature covers the first component. It covers referenced components by their digests, which are recomputed from the descriptors that
//       were read.
//   D2. Digests cover contents, too: checkContent compares each content when it is read with the digest that was verified here.
//   D3. A component that replaces another one by ComponentVersionOverwrites was not signed with it: it needs its own signature with the same name and
//       key.
//   D4. The event loop runs between two components.
//   D5. One component may be digested in several ways, because each referring component chooses; the total size is limited.

import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { BlueprintError } from '../render/render-errors.ts'
import { titleOfComponent, type Component } from '../render/blueprint/component-descriptor.ts'
import { typeName, type Fields } from '../render/field-reader.ts'
import { MAX_DESCRIPTORS_BYTES } from './component-repository.ts'
import {
  canonicalText,
  isWithoutContent,
  normalForms,
  NORMALISATIONS,
  type DigestSpec,
  type Normalisation,
} from './normalise.ts'
import { HASHES, readSignature, signatureProblem, type TrustedKeys } from './verify-signature.ts'
import type { ResourceContent } from '../render/blueprint/component-scope.ts'
import { isFields } from '../../../workflows/kit/index.ts'

/** The verification that an Installation requires. */
export interface Verification {
  readonly signatureName: string
  readonly keys: TrustedKeys
  /** Returns the verified digests of the parent's component, for a component without its own signature. Absent for a root. */
  readonly ofParent?: () => Promise<Verified>
}

/** A component as read, and the titles of the components to which its references lead. */
export interface ReadComponent {
  readonly component: Component
  readonly links: readonly string[]
}

/** The verified digests by component title. */
export type Verified = ReadonlyMap<string, VerifiedComponent>

export interface VerifiedComponent {
  /** The digest that the referring component requires, and its digests of resources. */
  readonly digest: DigestSpec
  readonly nested: Nested
  /** All digests that each resource's content must have, in the order of the resources. */
  readonly resources: readonly (readonly DigestSpec[])[]
}

/** Digests of resources stated by a referring component, by title of the component and identity of the resource. */
type Nested = ReadonlyMap<string, ReadonlyMap<string, DigestSpec>>

/** For D5: several times the limit for all descriptors of one resolution. */
const MAX_CHARACTERS = 4 * MAX_DESCRIPTORS_BYTES

/** @throws BlueprintError `UntrustedContent` with the component, the signature, the computed and the expected digest. */
export async function verifyComponents(
  own: string,
  components: ReadonlyMap<string, ReadComponent>,
  verification: Verification,
): Promise<Verified> {
  const verifier = new Verifier(components, verification)
  const signature = verifier.signatureOf(own)
  if (signature !== undefined || verification.ofParent === undefined) await verifier.verifyBySignature(own)
  else await verifier.verifyByDigest(own, (await verification.ofParent()).get(own))
  const verified = verifier.verified()
  for (const title of components.keys()) if (!verified.has(title)) refuse(`component "${title}" was not verified`)
  return verified
}

interface DescriptorDigest {
  readonly digest: DigestSpec
  /** Rebuilds the text, because texts are long and few are needed. */
  readonly text: () => string
}

class Verifier {
  readonly #components: ReadonlyMap<string, ReadComponent>
  readonly #name: string
  readonly #keys: TrustedKeys
  readonly #digests = new Map<string, readonly DescriptorDigest[]>()
  readonly #required = new Map<string, Pick<VerifiedComponent, 'digest' | 'nested'>>()
  readonly #resources = new Map<string, Map<string, DigestSpec>[]>()
  readonly #verifiedSignatures = new Set<string>()
  #characters = 0

  constructor(components: ReadonlyMap<string, ReadComponent>, { signatureName, keys }: Verification) {
    this.#components = components
    this.#name = signatureName
    this.#keys = keys
  }

  signatureOf(title: string): Fields | undefined {
    const { signatures } = this.#component(title).component.document
    return Array.isArray(signatures) ? signatures.filter(isFields).find(({ name }) => name === this.#name) : undefined
  }

  async verifyBySignature(title: string): Promise<void> {
    if (this.#verifiedSignatures.has(title)) return
    this.#verifiedSignatures.add(title)
    const place = `component ${title}: signature ${JSON.stringify(this.#name.slice(0, 100))}`
    const found = this.signatureOf(title) ?? refuse(`${place}: found ${this.#signatureNames(title)}; expected it`)
    const digest = digestIn(found['digest'], `${place}: digest`)
    const signature = readSignature(found['signature'])
    if ('problem' in signature) refuse(`${place}: ${signature.problem}`)
    const { text } = await this.#verifyDigest(title, digest, nestedIn(this.#component(title).component), place)
    const problem = await signatureProblem(text(), hashOf(digest, place), signature, this.#keys)
    if (problem !== undefined) refuse(`${place}: ${problem}`)
  }

  async verifyByDigest(title: string, required: VerifiedComponent | undefined): Promise<void> {
    const place = `component ${title}`
    if (required === undefined) {
      const wanted = `expected signature ${JSON.stringify(this.#name.slice(0, 100))}`
      refuse(
        `${place}: found ${this.#signatureNames(title)}, and no verified component of its parent refers to it; ${wanted}`,
      )
    }
    await this.#verifyDigest(title, required.digest, required.nested, `${place}, as its parent's refers to it`)
  }

  verified(): Verified {
    return new Map(
      [...this.#required].map(([title, required]) => {
        const resources = (this.#resources.get(title) ?? []).map((one) => [...one.values()])
        return [title, { ...required, resources }]
      }),
    )
  }

  async #verifyDigest(title: string, wanted: DigestSpec, nested: Nested, place: string): Promise<DescriptorDigest> {
    const found = await this.#digestsOf(title, wanted, nested)
    this.#required.set(title, this.#required.get(title) ?? { digest: wanted, nested })
    const matching = found.find(({ digest }) => digest.value === wanted.value.toLowerCase())
    return matching ?? refuse(`${place}: found the digest ${found[0]?.digest.value ?? ''}; expected ${wanted.value}`)
  }

  /** Implements D1. */
  async #digestsOf(title: string, wanted: DigestSpec, nested: Nested): Promise<readonly DescriptorDigest[]> {
    const [hash, normalisation] = [hashOf(wanted, title), normalisationOf(wanted, title)]
    const key = JSON.stringify([title, hash, normalisation, this.#idOf(nested)])
    const known = this.#digests.get(key)
    if (known !== undefined) return known
    const { component } = this.#component(title)
    const resources = this.#resourceDigests(component, nested)
    const references = await this.#referenceDigests(title, wanted, nested)
    // Implements D4.
    await nextTurn()
    const forms = () => normalForms(component, normalisation, { resources, references })
    const found = forms().map((text, index) => {
      this.#count(text.length, title)
      const digest = { ...wanted, value: createHash(hash).update(text).digest('hex') }
      return { digest, text: () => forms()[index] ?? '' }
    })
    this.#digests.set(key, found)
    return found
  }

  #resourceDigests(component: Component, nested: Nested): readonly (DigestSpec | undefined)[] {
    const title = titleOfComponent(component)
    const own = nested.get(title)
    const required = this.#resources.get(title) ?? component.resources.map(() => new Map<string, DigestSpec>())
    this.#resources.set(title, required)
    return entriesOf(component, 'resources').map((entry, index) => {
      if (isWithoutContent(entry)) return undefined
      const place = `resource "${component.resources[index]?.name ?? index}" of component "${title}"`
      const digest = own?.get(identityOf(entry)) ?? digestIn(entry['digest'], `${place}: digest`)
      required[index]?.set(canonicalText(digest), digest)
      return digest
    })
  }

  async #referenceDigests(title: string, wanted: DigestSpec, nested: Nested): Promise<readonly DigestSpec[]> {
    const { component, links } = this.#component(title)
    const digests: DigestSpec[] = []
    for (const [index, { componentName, version, name }] of component.references.entries()) {
      const place = `component ${title}: reference ${name}`
      const stated = this.#statedDigest(component, index, place)
      const link = links[index] ?? throwNotRead(title)
      const isOther = link !== titleOfComponent({ name: componentName, version })
      if (isOther) await this.verifyBySignature(link)
      else if (stated !== undefined) await this.#verifyDigest(link, stated, nested, `${place} to ${link}`)
      const missing = () => refuse(`${place}, which is replaced by ${link}: found no digest; expected one`)
      digests.push(stated ?? (isOther ? missing() : await this.#digestFor(link, wanted, nested)))
    }
    return digests
  }

  #statedDigest(component: Component, index: number, place: string): DigestSpec | undefined {
    const digest = entriesOf(component, 'references')[index]?.['digest']
    return digest === undefined || digest === null ? undefined : digestIn(digest, `${place}: digest`)
  }

  /** The digest of a component that is referenced without a digest. */
  async #digestFor(title: string, wanted: DigestSpec, nested: Nested): Promise<DigestSpec> {
    const [found] = await this.#digestsOf(title, wanted, nested)
    const { digest } = found ?? throwNotRead(title)
    this.#required.set(title, this.#required.get(title) ?? { digest, nested })
    return digest
  }

  /** Implements D5. */
  #count(characters: number, title: string): void {
    this.#characters += characters
    if (this.#characters > MAX_CHARACTERS)
      refuse(`component ${title}: found more than ${MAX_CHARACTERS} characters to verify; expected fewer`)
  }

  readonly #ids = new Map<Nested, number>()
  #idOf(nested: Nested): number {
    const id = this.#ids.get(nested) ?? this.#ids.size
    this.#ids.set(nested, id)
    return id
  }

  #component(title: string): ReadComponent {
    return this.#components.get(title) ?? throwNotRead(title)
  }

  #signatureNames(title: string): string {
    const { signatures } = this.#component(title).component.document
    const names = Array.isArray(signatures) ? signatures.filter(isFields).map(({ name }) => String(name)) : []
    return names.length === 0 ? 'no signature' : `signatures ${names.slice(0, 5).join(', ').slice(0, 200)}`
  }
}

function throwNotRead(title: string): never {
  throw new Error(`component ${title} was not read`)
}

function entriesOf({ document, schemaVersion }: Component, list: 'resources' | 'references'): readonly Fields[] {
  const part = schemaVersion === 'v2' ? document['component'] : document['spec']
  const key = schemaVersion === 'v2' && list === 'references' ? 'componentReferences' : list
  const entries = isFields(part) ? part[key] : undefined
  return Array.isArray(entries) ? entries.filter(isFields) : []
}

const NOTHING_NESTED: Nested = new Map()

/** Source: OCM v0.11.0, `nestedDigests`: the signature's digests for components whose references have none. */
function nestedIn({ document: { nestedDigests } }: Component): Nested {
  const entries = Array.isArray(nestedDigests) ? nestedDigests.filter(isFields) : []
  if (entries.length === 0) return NOTHING_NESTED
  return new Map(
    entries.map((one) => {
      const { name, version, resourceDigests } = one
      const title = titleOfComponent({ name: String(name), version: String(version) })
      const resources = Array.isArray(resourceDigests) ? resourceDigests.filter(isFields) : []
      const place = `nestedDigests of ${title}`
      return [title, new Map(resources.map((entry) => [identityOf(entry), digestIn(entry['digest'], place)]))]
    }),
  )
}

function identityOf({ name, version, extraIdentity }: Fields): string {
  return canonicalText([name, version ?? '', isFields(extraIdentity) ? extraIdentity : {}])
}

function digestIn(value: unknown, place: string): DigestSpec {
  if (!isFields(value)) refuse(`${place}: found ${typeName(value)}; expected one`)
  const { hashAlgorithm, normalisationAlgorithm, value: text } = value
  if (typeof hashAlgorithm === 'string' && typeof normalisationAlgorithm === 'string' && typeof text === 'string')
    return { hashAlgorithm, normalisationAlgorithm, value: text }
  return refuse(`${place}: incomplete; expected hashAlgorithm, normalisationAlgorithm and value`)
}

function hashOf({ hashAlgorithm: found }: DigestSpec, place: string): 'sha256' | 'sha512' {
  const hash = Object.hasOwn(HASHES, found) ? HASHES[found] : undefined
  return hash ?? refuse(`${place}: hashAlgorithm: found ${shown(found)}; expected SHA-256 or SHA-512`)
}

function normalisationOf({ normalisationAlgorithm: found }: DigestSpec, place: string): Normalisation {
  const expected = `expected ${NORMALISATIONS.join(', ')}`
  return (
    NORMALISATIONS.find((one) => one === found) ??
    refuse(`${place}: normalisationAlgorithm: found ${shown(found)}; ${expected}`)
  )
}

function shown(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}...` : text)
}

function refuse(message: string): never {
  throw new BlueprintError('UntrustedContent', message)
}

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
  if (digests.length === 0) refuse(`${place}: found no verified digest; expected one`)
  for (const digest of digests) checkOne(content, digest, place)
}

function checkOne(content: ResourceContent, digest: DigestSpec, place: string): void {
  const { hashAlgorithm, normalisationAlgorithm, value } = digest
  if (hashAlgorithm === 'NO-DIGEST')
    refuse(`${place}: found it excluded from the signature (NO-DIGEST); expected a digest`)
  const hash = Object.hasOwn(HASHES, hashAlgorithm) ? HASHES[hashAlgorithm] : undefined
  const bytes = bytesOf(content, normalisationAlgorithm)
  if (hash === undefined || bytes === undefined) {
    const what = 'folder' in content ? 'a folder' : 'content'
    const found = `found ${what} with the digest ${hashAlgorithm.slice(0, 50)}, ${normalisationAlgorithm.slice(0, 50)}`
    refuse(`${place}: ${found}; expected a file with ${BLOB}, or an artefact with ${ARTEFACT[0] ?? ''}`)
  }
  const found = createHash(hash).update(bytes).digest('hex')
  if (found !== value.toLowerCase()) refuse(`${place}: found content of the digest ${found}; expected ${value}`)
}

function bytesOf(content: ResourceContent, normalisation: string): Buffer | undefined {
  if ('folder' in content) return undefined
  // The digest of an artefact's manifest covers its layers, which are read by their digests.
  if (ARTEFACT.includes(normalisation)) return content.manifest
  return normalisation === BLOB ? content.bytes : undefined
}
