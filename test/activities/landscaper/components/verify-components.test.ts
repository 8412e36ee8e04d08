// Tests which signed components Pawl accepts, and the errors for other components. Source: spec/landscaper.md 3.13.

import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import type { Overwrite } from '../../../../activities/landscaper/components/component-overwrites.ts'
import { resolveComponents, resolveVerified } from '../../../../activities/landscaper/components/resolve-components.ts'
import type { Verification } from '../../../../activities/landscaper/components/verify-components.ts'
import type { TrustedKeys } from '../../../../activities/landscaper/components/verify-signature.ts'
import { resolveResource } from '../../../../activities/landscaper/render/blueprint/component-scope.ts'
import {
  blob,
  type Contents,
  descriptorV2,
  descriptorV3,
  newRegistry,
  noRegistries,
  reference,
} from '../../../support/registries/component-registry.ts'
import { blobDigest, digestOf, newKeys, signed, SIGNATURE } from '../../../support/registries/signed-components.ts'
import { data } from '../tenant-data.ts'

const [SHOP, DB] = ['example.com/shop', 'example.com/db']
const [ACME, OTHER] = [newKeys(), newKeys()]
const trusting = (pem: string): TrustedKeys => ({ publicKey: { pem, place: 'secret n/key' }, authorities: undefined })
const stage = newRegistry()
afterAll(() => stage.remove())

const text = (name: string, content = name, more: object = {}) => ({
  ...blob(name, 'text'),
  digest: blobDigest(content),
  ...more,
})
const database = (more: Contents = {}) => descriptorV3(DB, '2.0.0', { resources: [text('size')], ...more })
const shop = (db: object = database(), more: object = {}, resources = [text('note')]) =>
  descriptorV2(SHOP, '1.0.0', {
    resources,
    references: [reference('db', DB, '2.0.0', { digest: digestOf(db), ...more })],
  })

let folders = 0
interface Course {
  readonly shop?: object
  readonly db?: object
  readonly blobs?: Readonly<Record<string, string>>
  readonly more?: Readonly<Record<string, object>>
  readonly verification?: Partial<Verification>
  readonly overwrites?: readonly Overwrite[]
}

function sourceOf({ verification, overwrites = [], ...course }: Course) {
  const filePath = `r${(folders += 1)}`
  const files = {
    shop: course.shop ?? signed(shop(), { key: ACME.privateKey }),
    db: course.db ?? database(),
    ...course.more,
  }
  for (const [name, file] of Object.entries(files))
    stage.write({ [`${filePath}/${name}/component-descriptor.yaml`]: JSON.stringify(file) })
  for (const [name, content] of Object.entries({ note: 'note', size: 'size', ...course.blobs }))
    stage.write({ [`${filePath}/blobs/${name}`]: content })
  return {
    definition: { ref: { componentName: SHOP, version: '1.0.0' } },
    repositoryContext: { type: 'local', filePath },
    context: 'default',
    registryFolder: stage.folder,
    registries: noRegistries,
    overwrites,
    verification: { signatureName: SIGNATURE, keys: trusting(ACME.publicPem), ...verification },
  }
}

const verified = (course: Course = {}) => resolveComponents(data, sourceOf(course))

async function refusal(course: Course): Promise<string> {
  const error = await verified(course).then(
    () => new Error('found no failure'),
    (failure: unknown) => failure as Error,
  )
  expect(error).toMatchObject({ code: 'UntrustedContent' })
  return error.message
}

async function contentOf(scope: Awaited<ReturnType<typeof verified>>, uri: string): Promise<string> {
  const content = await scope.readContent(resolveResource(scope, uri))
  return 'bytes' in content ? content.bytes.toString() : 'a folder'
}

describe('a signed component', () => {
  it.each([
    ['jsonNormalisation/v1', 'sha256', false],
    ['jsonNormalisation/v2', 'sha512', false],
    ['jsonNormalisation/v3', 'sha256', true],
  ] as const)(
    'is accepted with the components that it refers to: %s, %s, PSS %s',
    async (normalisation, hash, isPss) => {
      const scope = await verified({ shop: signed(shop(), { key: ACME.privateKey, normalisation, hash, isPss }) })
      expect(scope.all.map(({ name }) => name)).toEqual([SHOP, DB])
      expect(await contentOf(scope, 'cd://resources/note')).toBe('note')
      expect(await contentOf(scope, 'cd://componentReferences/db/resources/size')).toBe('size')
    },
  )

  it('is refused without the named signature, with the signature of another key, and with a changed descriptor', async () => {
    const place = `component ${SHOP}:1.0.0: signature "${SIGNATURE}": `
    expect(await refusal({ shop: shop() })).toBe(`${place}found no signature; expected it`)
    const named = { key: ACME.privateKey, name: 'test' }
    expect(await refusal({ shop: signed(shop(), named) })).toBe(`${place}found signatures test; expected it`)
    expect(await refusal({ shop: signed(shop(), { key: OTHER.privateKey }) })).toBe(
      `${place}the key of secret n/key did not create it; sign the component again, or correct the key`,
    )
    const { signatures } = signed(shop(), { key: ACME.privateKey }) as { signatures: object[] }
    const changed = { ...shop(database(), {}, [text('note'), text('more')]), signatures }
    expect(await refusal({ shop: changed })).toMatch(/signature "acme-release": found the digest \w+; expected \w+$/)
  })

  it('is refused with the signature of another descriptor', async () => {
    const other = signed(shop(database(), {}, [text('note', 'evil')]), { key: OTHER.privateKey })
    const { signatures: own } = signed(shop(), { key: ACME.privateKey }) as { signatures: { signature: object }[] }
    const { signatures } = other as { signatures: object[] }
    const mixed = { ...other, signatures: [{ ...signatures[0], signature: own[0]?.signature }] }
    expect(await refusal({ shop: mixed })).toContain('did not create it')
  })

  it('is refused with an unsupported algorithm, an invalid key or missing fields', async () => {
    const withPart = (part: object) => {
      const document = signed(shop(), { key: ACME.privateKey }) as { signatures: { signature: object }[] }
      const [first] = document.signatures
      return { ...document, signatures: [{ ...first, ...part }] }
    }
    expect(
      await refusal({ shop: withPart({ signature: { algorithm: 'none', mediaType: 'a', value: '' } }) }),
    ).toContain('algorithm: found "none"; expected RSASSA-PKCS1-V1_5 or RSASSA-PSS')
    expect(await refusal({ shop: withPart({ signature: {} }) })).toContain('algorithm: found nothing; expected text')
    const digest = { hashAlgorithm: 'MD5', normalisationAlgorithm: 'jsonNormalisation/v2', value: '' }
    expect(await refusal({ shop: withPart({ digest }) })).toContain('found "MD5"; expected SHA-256 or SHA-512')
    const weak = newKeys(1024)
    const keys = trusting(weak.publicPem)
    expect(await refusal({ shop: signed(shop(), { key: weak.privateKey }), verification: { keys } })).toContain(
      'secret n/key: found 1024 bits; expected 2048 to 16384',
    )
    expect(await refusal({ verification: { keys: trusting('no key') } })).toContain('found no RSA public key')
  })
})

describe('the example that the OCM command line has signed', () => {
  it('is accepted with the key in its manifests', async () => {
    const manifests = readFileSync('examples/signed.yaml', 'utf8')
    const [pem = ''] = /-----BEGIN RSA[^]*END RSA PUBLIC KEY-----/.exec(manifests) ?? []
    const scope = await resolveComponents(data, {
      definition: { ref: { componentName: 'example.com/till', version: '1.0.0' } },
      repositoryContext: { type: 'local', filePath: 'till' },
      context: 'signed',
      registryFolder: 'examples/components',
      registries: noRegistries,
      verification: { signatureName: SIGNATURE, keys: trusting(pem.replace(/^ +/gm, '')) },
    })
    expect(await contentOf(scope, 'cd://resources/settings')).toContain('example.com/images/till:1.0.0')
  })
})

describe('a component that a signed component refers to', () => {
  it('is refused when its digest differs from the signed digest, in a repository and in a label', async () => {
    const other = database({ resources: [text('size', 'evil')] })
    const place = `component ${SHOP}:1.0.0: reference db to ${DB}:2.0.0: `
    expect(await refusal({ db: other })).toContain(`${place}found the digest`)
    const label = { name: 'landscaper.gardener.cloud/component-descriptor', value: other }
    const key = ACME.privateKey
    expect(await refusal({ shop: signed(shop(database(), { labels: [label] }), { key }) })).toContain(place)
    // The component's own valid signature does not replace the digest that the other component signs.
    expect(await refusal({ db: signed(other, { key }) })).toContain(place)
  })

  it('needs no digest in its reference when the signed descriptor contains the digests of its resources', async () => {
    const bare = descriptorV3(DB, '2.0.0', { resources: [blob('size', 'text')] })
    const nested = {
      name: DB,
      version: '2.0.0',
      resourceDigests: [{ name: 'size', version: 'v1.0.0', digest: blobDigest('size') }],
    }
    // The signed descriptor has the digest in its reference; the stored descriptor has digests only in nestedDigests.
    const { signatures } = signed(shop(), { key: ACME.privateKey }) as { signatures: object[] }
    const stored = { ...shop(database(), { digest: undefined }), nestedDigests: [nested], signatures }
    const scope = await verified({ shop: stored, db: bare })
    expect(await contentOf(scope, 'cd://componentReferences/db/resources/size')).toBe('size')
    const forged = { ...nested, resourceDigests: [{ ...nested.resourceDigests[0], digest: blobDigest('evil') }] }
    expect(await refusal({ shop: { ...stored, nestedDigests: [forged] }, db: bare })).toContain('found the digest')
    expect(await refusal({ shop: { ...stored, nestedDigests: [] }, db: bare })).toContain(
      `resource "size" of component "${DB}:2.0.0": digest: found nothing; expected one`,
    )
  })

  it('needs its own signature when a ComponentVersionOverwrite selects another version', async () => {
    const overwrites = [{ source: { componentName: DB }, substitution: { version: '3.0.0' } }]
    const replacement = descriptorV3(DB, '3.0.0', { resources: [text('size')] })
    expect(await refusal({ overwrites, more: { replacement } })).toBe(
      `component ${DB}:3.0.0: signature "${SIGNATURE}": found no signature; expected it`,
    )
    const more = { replacement: signed(replacement, { key: ACME.privateKey }) }
    const scope = await verified({ overwrites, more })
    expect(await contentOf(scope, 'cd://componentReferences/db/resources/size')).toBe('size')
    const { repositoryContext } = sourceOf({ db: database({ resources: [text('size', 'evil')] }) })
    const elsewhere = [{ source: { componentName: DB }, substitution: { repositoryContext } }]
    expect(await refusal({ overwrites: elsewhere })).toContain(`reference db to ${DB}:2.0.0: found the digest`)
  })
})

describe('the content of a resource of a signed component', () => {
  const reading = async (course: Course) => {
    const error = await contentOf(await verified(course), 'cd://resources/note').then(
      () => new Error('found no failure'),
      (failure: unknown) => failure as Error,
    )
    expect(error).toMatchObject({ code: 'UntrustedContent' })
    return error.message
  }

  it('is refused when its digest differs from the signed digest, is excluded from the signature or has the wrong type', async () => {
    const place = `resource "note" of component "${SHOP}:1.0.0": `
    expect(await reading({ blobs: { note: 'evil' } })).toBe(
      `${place}found content of the digest ${blobDigest('evil').value}; expected ${blobDigest('note').value}`,
    )
    const digest = { ...blobDigest(''), hashAlgorithm: 'NO-DIGEST', normalisationAlgorithm: 'EXCLUDE-FROM-SIGNATURE' }
    const excluded = signed(shop(database(), {}, [text('note', 'note', { digest })]), { key: ACME.privateKey })
    expect(await reading({ shop: excluded })).toBe(
      `${place}found it excluded from the signature (NO-DIGEST); expected a digest`,
    )
    const artefact = { ...blobDigest('note'), normalisationAlgorithm: 'ociArtifactDigest/v1' }
    const wrong = signed(shop(database(), {}, [text('note', 'note', { digest: artefact })]), { key: ACME.privateKey })
    expect(await reading({ shop: wrong })).toContain('expected a file with genericBlobDigest/v1, or an artefact')
  })
})

describe('the content of an artefact that a signed component names', () => {
  it('is verified by the digest of its manifest, even when the tag points to another manifest', async () => {
    const layer = { mediaType: 'text/plain', digest: `sha256:${blobDigest('note').value}` }
    const manifestOf = (more: object) => Buffer.from(JSON.stringify({ config: layer, layers: [layer], ...more }))
    const digest = { ...blobDigest(manifestOf({})), normalisationAlgorithm: 'ociArtifactDigest/v1' }
    const access = { type: 'ociArtifact', imageReference: 'example.com/note:1.0.0' }
    const document = signed(shop(database(), {}, [text('note', '', { digest, access })]), { key: ACME.privateKey })
    const reading = async (manifest: Buffer) => {
      const reader = { manifest: () => Promise.resolve(manifest), blob: () => Promise.resolve(Buffer.from('note')) }
      const source = { ...sourceOf({ shop: document }), registries: () => Promise.resolve(reader) }
      return await contentOf(await resolveComponents(data, source), 'cd://resources/note')
    }
    expect(await reading(manifestOf({}))).toBe('note')
    await expect(reading(manifestOf({ annotations: {} }))).rejects.toThrow(
      `resource "note" of component "${SHOP}:1.0.0": found content of the digest`,
    )
  })
})

describe('the component of a sub-installation', () => {
  const own = { ref: { componentName: DB, version: '2.0.0' } }

  it('is covered by the signature of its parent', async () => {
    const parent = sourceOf({})
    const ofParent = () => resolveVerified(data, parent)
    const verification = { ...parent.verification, ofParent }
    const scope = await resolveComponents(data, { ...parent, definition: own, verification })
    expect(await contentOf(scope, 'cd://resources/size')).toBe('size')
    const { repositoryContext } = sourceOf({ db: database({ resources: [text('size', 'evil')] }) })
    const elsewhere = { ...parent, definition: own, verification, repositoryContext }
    await expect(resolveComponents(data, elsewhere)).rejects.toThrow(
      `component ${DB}:2.0.0, as its parent's refers to it: found the digest`,
    )
  })

  it('is passed on unchanged when it is inline, so that its signature stays valid', async () => {
    const overwrites = [{ source: { componentName: DB }, substitution: { version: '3.0.0' } }]
    const replacement = signed(descriptorV3(DB, '3.0.0', { resources: [text('size')] }), { key: ACME.privateKey })
    const source = sourceOf({ overwrites, more: { replacement } })
    const inline = signed(shop(), { key: ACME.privateKey })
    const first = await resolveComponents(data, { ...source, definition: { inline } })
    const definition = first.definitionOf(first.own)
    expect(definition).toEqual({ inline })
    const scope = await resolveComponents(data, { ...source, definition })
    expect(scope.all.map(({ version }) => version)).toEqual(['1.0.0', '3.0.0'])
  })

  it('is refused when no component of its parent refers to it', async () => {
    const source = sourceOf({ verification: { ofParent: () => Promise.resolve(new Map()) } })
    await expect(resolveComponents(data, { ...source, definition: own })).rejects.toThrow(
      `component ${DB}:2.0.0: found no signature, and no verified component of its parent refers to it; expected signature "${SIGNATURE}"`,
    )
  })
})
