// Resolves the component of an Installation and its references from real folders.

import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { Overwrite } from '../../../../activities/landscaper/components/component-overwrites.ts'
import { resolveComponents } from '../../../../activities/landscaper/components/resolve-components.ts'
import type { BlueprintError } from '../../../../activities/landscaper/render/render-errors.ts'
import { titleOfComponent } from '../../../../activities/landscaper/render/blueprint/component-descriptor.ts'
import { resolveResource } from '../../../../activities/landscaper/render/blueprint/component-scope.ts'
import type { Fields } from '../../../../activities/landscaper/render/field-reader.ts'
import {
  blob,
  descriptorV2,
  descriptorV3,
  newRegistry,
  noRegistries,
  reference,
} from '../../../support/registries/component-registry.ts'
import { data } from '../tenant-data.ts'

const json = (value: unknown) => JSON.stringify(value)
const LABEL = 'landscaper.gardener.cloud/component-descriptor'
const [A, B, C] = ['example.com/a', 'example.com/b', 'example.com/c']

const stage = newRegistry({
  'shop/a/component-descriptor.yaml': json(
    descriptorV2(A, '1.0.0', {
      resources: [
        blob('own', 'text'),
        blob('shared', 'text'),
        blob('digest', 'text', 'sha256:00ff'),
        blob('up', 'text', '../../secret'),
        blob('linked', 'text'),
      ],
      references: [reference('b', B, '1.0.0'), reference('c', C, '2.0.0')],
    }),
  ),
  'shop/a/blobs/own': 'of a',
  'shop/a/blobs/sha256.00ff': 'by digest',
  'shop/a/secret': 'outside of blobs',
  'shop/blobs/shared': 'of the repository',
  'shop/b/component-descriptor.yaml': json(descriptorV3(B, '1.0.0', { references: [reference('c', C, '2.0.0')] })),
  'shop/c.component-descriptor.json': json(
    descriptorV3(C, '2.0.0', { resources: [blob('schema', 'text')] }),
  ).replaceAll('/', '\\/'),
  'shop/a-refers/component-descriptor.yaml': json(descriptorV2('', '', { references: [reference('a', A, '1.0.0')] })),
  'shop/broken/component-descriptor.yaml': `a: [example.com/d`,
  'other/c/component-descriptor.yaml': json(descriptorV3(C, '3.0.0', { resources: [blob('schema', 'text')] })),
  'other/c/blobs/schema': 'of the other repository',
  'other/a/component-descriptor.yaml': json(
    descriptorV2(A, '2.0.0', {
      references: [{ ...reference('c', C, '2.0.0'), labels: [{ name: LABEL, value: descriptorV2(C, '2.0.0') }] }],
    }),
  ),
  'ring/1/component-descriptor.yaml': json(descriptorV2(A, '1', { references: [reference('b', B, '1')] })),
  'ring/2/component-descriptor.yaml': json(descriptorV2(B, '1', { references: [reference('c', C, '1')] })),
  'ring/3/component-descriptor.yaml': json(descriptorV2(C, '1', { references: [reference('b', B, '1')] })),
  'wrong/component-descriptor.yaml': json({
    ...descriptorV2(A, '1'),
    component: { name: A, version: '1', resources: [{}] },
  }),
})
symlinkSync('/etc/hostname', join(stage.folder, 'shop/a/blobs/linked'))
symlinkSync('/etc', join(stage.folder, 'away'))
execFileSync('mkfifo', [join(stage.folder, 'shop/pipe-component-descriptor.yaml')])
afterAll(() => stage.remove())

const LOCAL = (filePath: string) => ({ type: 'local', filePath })
const byRef = (componentName: string, version: string, repositoryContext?: object) => ({
  ref: { ...(repositoryContext !== undefined && { repositoryContext }), componentName, version },
})

type Source = Partial<Parameters<typeof resolveComponents>[1]>

async function resolve(definition: Fields, repositoryContext?: unknown, more: Source = {}) {
  const source = { definition, repositoryContext, context: 'default', registryFolder: stage.folder }
  return await resolveComponents(data, { ...source, registries: noRegistries, ...more })
}

async function errorOf(work: Promise<unknown>): Promise<Pick<BlueprintError, 'code' | 'message'>> {
  const error = (await work.then(
    () => new Error('found no failure'),
    (failure: unknown) => failure,
  )) as BlueprintError
  return { code: error.code, message: error.message }
}

async function contentOf(scope: Awaited<ReturnType<typeof resolve>>, uri: string): Promise<string> {
  const content = await scope.readContent(resolveResource(scope, uri))
  return 'bytes' in content ? content.bytes.toString() : 'a folder'
}

describe('a component in a folder', () => {
  it('is resolved with all its references, each component once, from descriptor files of different names', async () => {
    const scope = await resolve(byRef(A, '1.0.0'), LOCAL('shop'))
    expect(scope.all.map(titleOfComponent)).toEqual([`${A}:1.0.0`, `${B}:1.0.0`, `${C}:2.0.0`])
    expect(scope.own).toBe(scope.all[0])
    expect(scope.source).toEqual(byRef(A, '1.0.0'))
  })

  it('has its blobs next to its descriptor or in the folder of the repository', async () => {
    const scope = await resolve(byRef(A, '1.0.0', LOCAL('./shop/')), { type: 'OCIRegistry' })
    expect(await contentOf(scope, 'cd://resources/own')).toBe('of a')
    expect(await contentOf(scope, 'cd://resources/shared')).toBe('of the repository')
    expect(await contentOf(scope, 'cd://resources/digest')).toBe('by digest')
  })

  it('fails a read of a missing blob or resource with an error that names the blob or resource', async () => {
    const scope = await resolve(byRef(A, '1.0.0'), LOCAL('shop'))
    expect(await errorOf(contentOf(scope, 'cd://componentReferences/c/resources/schema'))).toEqual({
      code: 'ComponentNotFound',
      message: `resource "schema" of component "${C}:2.0.0", schema: blob not found; expected one of shop/blobs/schema in the registry`,
    })
    expect(await errorOf(contentOf(scope, 'cd://resources/none'))).toEqual({
      code: 'ComponentNotFound',
      message: `cd://resources/none: component ${A}:1.0.0 has no resource none; it has own, shared, digest, up, linked`,
    })
  })

  it.each([
    ['a reference that goes up', 'cd://resources/up'],
    ['a link that leads out of the folder', 'cd://resources/linked'],
  ])('reads nothing through %s', async (_, uri) => {
    const scope = await resolve(byRef(A, '1.0.0'), LOCAL('shop'))
    expect(await errorOf(contentOf(scope, uri))).toMatchObject({ code: 'ComponentNotFound' })
  })

  it.each(['../../../../etc', '/etc', 'away', 'nowhere', 'a\0b'])(
    'is not found in %j, which leaves the registry folder or does not exist',
    async (path) => {
      const { code, message } = await errorOf(resolve(byRef(A, '1.0.0'), LOCAL(path)))
      expect({ code, message }).toEqual({
        code: 'ComponentNotFound',
        message: `spec.componentDescriptor.ref: no component "${A}:1.0.0" in folder ${path} of the registry; add it`,
      })
    },
  )

  it('that is missing is reported together with the descriptors that could not be read', async () => {
    expect(await errorOf(resolve(byRef('example.com/d', '1'), LOCAL('shop')))).toEqual({
      code: 'ComponentNotFound',
      message:
        'spec.componentDescriptor.ref: no component "example.com/d:1" in folder shop of the registry; add it; unreadable: ' +
        'shop/broken/component-descriptor.yaml, line 1, column 18: bad indent',
    })
  })

  it('with mistakes is refused with the file, the field, and the found and expected values', async () => {
    const { message } = await errorOf(resolve(byRef(A, '1'), LOCAL('wrong')))
    expect(message).toContain('wrong/component-descriptor.yaml.component.resources[0]: name is missing; add it')
  })

  it('whose references form a cycle is refused with the path of the cycle', async () => {
    expect(await errorOf(resolve(byRef(A, '1'), LOCAL('ring')))).toEqual({
      code: 'ERR_CONFIGURATION_PROBLEM',
      message: `spec.componentDescriptor: components refer to each other: ${B}:1 -> ${C}:1 -> ${B}:1; remove one of these references`,
    })
  })

  it('that refers to more than 500 components is refused', async () => {
    const chain = (index: number) =>
      descriptorV2(`example.com/n${index}`, '1', { references: [reference('next', `example.com/n${index + 1}`, '1')] })
    stage.write(
      Object.fromEntries(
        Array.from({ length: 520 }, (_, index) => [`many/${index}/component-descriptor.yaml`, json(chain(index))]),
      ),
    )
    expect(await errorOf(resolve(byRef('example.com/n0', '1'), LOCAL('many')))).toEqual({
      code: 'ERR_CONFIGURATION_PROBLEM',
      message: 'spec.componentDescriptor: found more than 500 referenced components; expected fewer',
    })
  })
})

describe('an inline component', () => {
  it('needs no repository as long as it has no references', async () => {
    const inline = descriptorV3(A, '1.0.0', { resources: [blob('image', 'ociImage')] })
    const scope = await resolve({ inline }, undefined, { registryFolder: '' })
    expect(scope.all).toHaveLength(1)
    expect(scope.definitionOf(scope.own)).toEqual({ inline })
  })

  it('may contain a referenced component in a label, or have it in the folder of its last repository context', async () => {
    const nested = descriptorV2(B, '3.0.0')
    const inline = descriptorV2(A, '1.0.0', {
      references: [
        reference('b', B, '3.0.0', { labels: [{ name: LABEL, value: nested }] }),
        reference('c', C, '2.0.0'),
      ],
      repositoryContexts: [{ type: 'OCIRegistry' }, LOCAL('shop')],
    })
    const scope = await resolve({ inline }, { type: 'OCIRegistry' })
    const [, b, c] = scope.all
    if (b === undefined || c === undefined) throw new Error('found no references')
    expect(scope.definitionOf(b)).toEqual({ inline: nested })
    expect(scope.definitionOf(c)).toEqual({
      ref: { repositoryContext: LOCAL('shop'), componentName: C, version: '2.0.0' },
    })
  })

  it('is refused when a label contains a component other than the referenced component', async () => {
    const labels = [{ name: LABEL, value: descriptorV2(B, '4') }]
    const inline = descriptorV2(A, '1', { references: [reference('b', B, '3', { labels })] })
    expect((await errorOf(resolve({ inline }))).message).toBe(
      `spec.componentDescriptor.inline.component.componentReferences[0].labels: found the descriptor of "${B}:4"; expected the descriptor of "${B}:3"`,
    )
  })
})

describe('an unsupported or incomplete component source', () => {
  it.each<[string, Fields, { context?: unknown; folder?: string }, string]>([
    [
      'a repository of the Installation',
      byRef(A, '1', { type: 'DockerDaemon/v1' }),
      { folder: stage.folder },
      'spec.componentDescriptor.ref.repositoryContext.type: found "DockerDaemon"; expected OCIRegistry, CommonTransportFormat or local: others are not supported yet',
    ],
    [
      'a repository of the Context',
      byRef(A, '1'),
      { context: { type: 'S3' }, folder: stage.folder },
      'Context "default": repositoryContext.type: found "S3"; expected OCIRegistry, CommonTransportFormat or local: others are not supported yet',
    ],
    [
      'a worker without folder',
      byRef(A, '1'),
      { context: LOCAL('shop') },
      'Context "default": repositoryContext: found type local, but the worker has no folder of components; start it with --registry-local',
    ],
    [
      'a missing folder',
      byRef(A, '1'),
      { context: LOCAL('shop'), folder: '/nowhere' },
      '--registry-local: folder "/nowhere" does not exist on the worker; create it',
    ],
  ])('is refused: %s', async (_, definition, { context, folder }, message) => {
    expect(await errorOf(resolve(definition, context, { registryFolder: folder }))).toEqual({
      code: 'NotSupported',
      message,
    })
  })

  it('is refused: a resource with an unsupported access type', async () => {
    const image = { name: 'code', type: 'git', access: { type: 'gitHub', repoUrl: 'github.com/a/b' } }
    const scope = await resolve({ inline: descriptorV2(A, '1', { resources: [image] }) }, LOCAL('shop'))
    expect(await errorOf(contentOf(scope, 'cd://resources/code'))).toEqual({
      code: 'NotSupported',
      message: `resource "code" of component "${A}:1": access.type: found "gitHub"; expected localBlob, localFilesystemBlob, localOciBlob, ociArtifact, ociRegistry, ociImage, ociBlob: others are not supported yet`,
    })
  })

  it.each<[Fields, string]>([
    [{}, 'spec.componentDescriptor: found neither ref nor inline; expected one of them'],
    [{ ref: {}, inline: {} }, 'spec.componentDescriptor: found both ref and inline; expected one of them'],
    [{ ref: {} }, 'spec.componentDescriptor.ref.componentName: found nothing; add it'],
    [
      byRef(A, '1'),
      'spec.componentDescriptor: repositoryContext is missing, also in Context "default"; add it to one of them',
    ],
  ])('is refused: the definition %j', async (definition, message) => {
    expect(await errorOf(resolve(definition))).toEqual({ code: 'ERR_CONFIGURATION_PROBLEM', message })
  })
})

describe('references that ComponentVersionOverwrites replace', () => {
  const by = async (definition: Fields, ...overwrites: Overwrite[]) =>
    await resolve(definition, LOCAL('shop'), { overwrites })
  const titles = ({ all }: Awaited<ReturnType<typeof by>>) => all.map(titleOfComponent)
  const C3 = { source: { componentName: C }, substitution: { repositoryContext: LOCAL('other'), version: '3.0.0' } }

  it('resolve to the replacement at every depth, also in URIs and in descriptors for templates', async () => {
    const scope = await by(byRef(A, '1.0.0'), C3)
    expect(titles(scope)).toEqual([`${A}:1.0.0`, `${B}:1.0.0`, `${C}:3.0.0`])
    expect(scope.overwrites).toEqual([`${C}:2.0.0 by ${C}:3.0.0 of {"type":"local","filePath":"other"}`])
    const found = resolveResource(scope, 'cd://componentReferences/b/componentReferences/c/resources/schema')
    expect(titleOfComponent(found.component)).toBe(`${C}:3.0.0`)
    expect(await scope.readContent(found)).toMatchObject({ bytes: Buffer.from('of the other repository') })
    const seen = json([scope.all[0]?.document, scope.all[1]?.document])
    expect(seen.match(/3\.0\.0/g)).toHaveLength(2)
    expect(seen).not.toContain('2.0.0')
    const [, second, third] = scope.all
    // These definitions are passed to sub-installations.
    expect([scope.definitionOf(second!), scope.definitionOf(third!)]).toEqual([
      byRef(B, '1.0.0'),
      byRef(C, '3.0.0', LOCAL('other')),
    ])
  })

  it('may include the component of the Installation, whose references are then read from the repository of the replacement', async () => {
    const source = { componentName: A, version: '1.0.0' }
    const elsewhere = { source, substitution: { repositoryContext: LOCAL('other'), version: '2.0.0' } }
    const own = await by(byRef(A, '1.0.0'), elsewhere)
    expect(titles(own)).toEqual([`${A}:2.0.0`, `${C}:2.0.0`])
    const all = await by(byRef(A, '1.0.0'), elsewhere, {
      source: { repositoryContext: LOCAL('other') },
      substitution: { version: '3.0.0' },
    })
    expect(titles(all)).toEqual([`${A}:2.0.0`, `${C}:3.0.0`])
    expect(json(all.own.document)).not.toContain(LABEL)
  })

  it('are named as replaced when the replacement does not exist', async () => {
    const none = { source: { componentName: C }, substitution: { version: '9' } }
    await expect(by(byRef(A, '1.0.0'), none)).rejects.toThrow(
      `spec.references[0], replaced by a substitution of componentVersionOverwrites: no component "${C}:9"`,
    )
  })

  it('are refused when one component would come from two repositories, and when they form a cycle', async () => {
    const onlyB = { source: { componentName: B }, substitution: { componentName: C, version: '2.0.0' } }
    const twice = by(byRef(A, '1.0.0'), {
      ...onlyB,
      substitution: { ...onlyB.substitution, repositoryContext: LOCAL('shop/.') },
    })
    await expect(twice).rejects.toThrow(`found ${C}:2.0.0 in two repositories; expected one`)
    const ring = by(byRef(A, '1.0.0'), {
      source: { componentName: C },
      substitution: { componentName: A, version: '1.0.0' },
    })
    await expect(ring).rejects.toThrow(`${A}:1.0.0 -> ${B}:1.0.0 -> ${A}:1.0.0; remove one of these references`)
  })
})
