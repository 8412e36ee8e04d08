// The component and the Context of an Installation: how often a job reads them, what it waits for, and what Pawl caches.

import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { JobBlueprints } from '../../../../activities/landscaper/components/job-blueprints.ts'
import { createRegistries } from '../../../../activities/landscaper/components/registries.ts'
import type { LandscaperDeps } from '../../../../activities/landscaper/deps.ts'
import { awaitContext } from '../../../../activities/landscaper/installation/context-wait.ts'
import { blueprintOf, checkContext } from '../../../../activities/landscaper/installation/installation-blueprint.ts'
import { createKubeClient, type KubeClient } from '../../../../activities/kube/client.ts'
import { storedAs } from '../../../../activities/kube/object-views.ts'
import { installationKind } from '../../../../workflows/landscaper/installation/kind.ts'
import { API } from '../../../support/cluster/cluster.ts'
import {
  blob,
  BLUEPRINT_TYPE,
  descriptorV2,
  newRegistry,
  tarOf,
} from '../../../support/registries/component-registry.ts'
import { blobDigest, digestOf, newKeys, signed, SIGNATURE } from '../../../support/registries/signed-components.ts'
import { TinyApi } from '../../kube/tiny-api.ts'
import { data } from '../tenant-data.ts'

const SHOP = 'example.com/shop'
const DESCRIPTOR = JSON.stringify(descriptorV2(SHOP, '1.0.0', { resources: [blob('blueprint', BLUEPRINT_TYPE)] }))
const blueprintYaml = (type: string) => JSON.stringify({ localTypes: { it: { type } } })
const registry = newRegistry({ 'component-descriptor.yaml': DESCRIPTOR })
let api: TinyApi
let kube: KubeClient
let deps: LandscaperDeps

beforeEach(async () => {
  api = await TinyApi.start()
  kube = createKubeClient({ kubeconfig: api.kubeconfig })
  putContext({ repositoryContext: { type: 'local' } })
  registry.write({ 'blobs/blueprint/blueprint.yaml': blueprintYaml('string') })
  const registries = createRegistries({ allow: [], now: () => new Date() })
  const components = { registryFolder: registry.folder, registries, signatures: 'asked' as const }
  const parts = { templates: { data }, components: { ...components, blueprints: new JobBlueprints() } }
  deps = { kube, landscaper: parts } as LandscaperDeps
})
afterEach(async () => {
  await kube.close()
  await api.stop()
})
afterAll(() => registry.remove())

function putContext(content: object) {
  api.put(`/apis/${API}/namespaces/n/contexts/parts`, { metadata: { name: 'parts', namespace: 'n' }, ...content })
}

const ofComponent = { context: 'parts', componentDescriptor: { ref: { componentName: SHOP, version: '1.0.0' } } }

function read(jobID: string, { generation = 1, spec = {}, metadata: more = {} } = {}) {
  const blueprint = { ref: { resourceName: 'blueprint' } }
  const metadata = { name: 'i', namespace: 'n', uid: JSON.stringify(['u', more]), generation, ...more }
  const installation = storedAs(installationKind, { metadata, spec: { ...ofComponent, blueprint, ...spec } })
  return blueprintOf(deps, installation, jobID)
}
const typeIn = async (...how: Parameters<typeof read>) => (await read(...how)).localTypes['it']

describe('the component of an installation', () => {
  it('is read once for a job, and again for the next job and for the next generation', async () => {
    expect(await typeIn('one')).toEqual({ type: 'string' })
    registry.write({ 'blobs/blueprint/blueprint.yaml': blueprintYaml('number') })
    expect(await typeIn('one')).toEqual({ type: 'string' })
    expect(api.requests).toHaveLength(1)
    expect(await typeIn('one', { generation: 2 })).toEqual({ type: 'number' })
    expect(await typeIn('two')).toEqual({ type: 'number' })
    expect(api.requests).toHaveLength(3)
  })

  it('is read again after a failed read', async () => {
    const missing = { spec: { blueprint: { ref: { resourceName: 'later' } } } }
    await expect(read('one', missing)).rejects.toMatchObject({ code: 'ComponentNotFound' })
    expect(await typeIn('one')).toEqual({ type: 'string' })
  })

  it('requires the ComponentVersionOverwrites that its Context names', async () => {
    putContext({ repositoryContext: { type: 'local' }, componentVersionOverwrites: 'mine' })
    await expect(read('one')).rejects.toMatchObject({ type: 'ComponentVersionOverwritesNotFound' })
    const overwrites = [{ source: { version: '1.0.0' }, substitution: { version: '9.9.9' } }]
    api.put(`/apis/${API}/namespaces/n/componentversionoverwrites/mine`, {
      metadata: { name: 'mine', namespace: 'n' },
      overwrites,
    })
    await expect(read('one')).rejects.toThrow(`${SHOP}:9.9.9`)
  })

  // Landscaper leaves it so in sub-installations whose parent is of none.
  it('is optional: with an empty componentDescriptor the job reads no Context', async () => {
    const filesystem = { 'blueprint.yaml': blueprintYaml('boolean') }
    const spec = { context: 'none', componentDescriptor: {}, blueprint: { inline: { filesystem } } }
    expect(await typeIn('one', { spec })).toEqual({ type: 'boolean' })
    expect(api.requests).toEqual([])
  })

  it('requires the Context that the spec names', async () => {
    await expect(read('one', { spec: { context: 'none' } })).rejects.toMatchObject({ type: 'ContextNotFound' })
  })
})

describe('a component with a signature', () => {
  const keys = newKeys()
  const verification = { signatureName: SIGNATURE }
  const reference = { publicKeySecretReference: { name: 'key', key: 'acme.pub' } }
  const put = (kind: string, name: string, content: object) =>
    api.put(`/api/v1/namespaces/n/${kind}/${name}`, { metadata: { name, namespace: 'n' }, ...content })
  const [packed, digest] = [tarOf({ 'blueprint.yaml': blueprintYaml('string') }), 'blobs/blueprint.tar']
  const resource = { ...blob('blueprint', BLUEPRINT_TYPE, 'blueprint.tar'), digest: blobDigest(packed) }
  const below = descriptorV2('example.com/below', '1.0.0', { resources: [resource] })
  const whole = signed(
    descriptorV2('example.com/whole', '1.0.0', {
      resources: [resource],
      references: [{ name: 'below', componentName: 'example.com/below', version: '1.0.0', digest: digestOf(below) }],
    }),
    { key: keys.privateKey },
  )
  const of = (name: string) => ({ ref: { componentName: `example.com/${name}`, version: '1.0.0' } })
  const spec = { componentDescriptor: of('whole'), verification }

  beforeEach(() => {
    registry.write({ [digest]: packed, 'whole/component-descriptor.yaml': JSON.stringify(whole) })
    registry.write({ 'below/component-descriptor.yaml': JSON.stringify(below) })
    put('secrets', 'key', { data: { 'acme.pub': Buffer.from(keys.publicPem).toString('base64') } })
    putContext({ repositoryContext: { type: 'local' }, verificationSignatures: { [SIGNATURE]: reference } })
  })
  const refusal = (how: object = spec, more: object = {}) =>
    read('one', { spec: how, ...more }).then(String, (error: unknown) => String(error))

  it('is verified with the key that the Context names for the signature', async () => {
    expect(await typeIn('one', { spec })).toEqual({ type: 'string' })
    put('secrets', 'key', { data: { 'acme.pub': Buffer.from(newKeys().publicPem).toString('base64') } })
    expect(await typeIn('one', { spec })).toEqual({ type: 'string' })
    await expect(read('two', { spec })).rejects.toMatchObject({ code: 'UntrustedContent' })
    await expect(read('two', { spec })).rejects.toThrow('the key of Secret "n/key" did not create it')
  })

  it.each<[object, string]>([
    [{}, `verificationSignatures.${SIGNATURE}: key is missing; add publicKeySecretReference`],
    [{ [SIGNATURE]: { publicKeySecretReference: { name: 'none' } } }, 'Secret "n/none" does not exist'],
    [
      { [SIGNATURE]: { caCertificateSecretReference: { name: 'key', key: 'a' } } },
      'Secret "n/key": key "a" is missing',
    ],
    [
      { [SIGNATURE]: { publicKeySecretReference: { name: 'key', namespace: 'other' } } },
      'publicKeySecretReference: namespace: found "other"; expected the namespace of the Context',
    ],
  ])('is refused when the Context has no usable key for the signature: %j', async (verificationSignatures, message) => {
    putContext({ repositoryContext: { type: 'local' }, verificationSignatures })
    expect(await refusal()).toContain(message)
  })

  it('must be verified when the operator says always, and is not verified when the operator says never', async () => {
    const set = (signatures: 'always' | 'never') => {
      const components = { ...deps.landscaper.components, signatures }
      deps = { ...deps, landscaper: { ...deps.landscaper, components } }
    }
    set('always')
    expect(await refusal({ componentDescriptor: of('whole') })).toContain(
      'spec.verification: found nothing; set signatureName',
    )
    putContext({ repositoryContext: { type: 'local' } })
    set('never')
    expect(await typeIn('one', { spec })).toEqual({ type: 'string' })
  })

  it('of a sub-installation may be verified by the component of its parent when both use the same signature and Context', async () => {
    const path = `/apis/${API}/namespaces/n/installations/whole`
    const parent = { name: 'whole', namespace: 'n', uid: 'up' }
    const putParent = (more: object) =>
      api.put(path, { metadata: parent, spec: { context: 'parts', ...spec, ...more } })
    const owner = { apiVersion: API, kind: 'Installation', name: 'whole', uid: 'up', controller: true }
    const sub = { componentDescriptor: of('below'), verification }
    const readSub = (uid = 'up') => refusal(sub, { metadata: { ownerReferences: [{ ...owner, uid }] } })
    putParent({})
    expect(await readSub()).toContain('[object Object]')
    expect(await readSub('another')).toContain('no verified component of its parent refers to it')
    const alone = { spec: sub, metadata: { uid: 'alone' } }
    await expect(read('one', alone)).rejects.toThrow(`signature "${SIGNATURE}": found no signature; expected it`)
    for (const more of [
      { verification: undefined },
      { verification: { signatureName: 'b' } },
      { context: 'default' },
    ]) {
      putParent(more)
      await expect(read(JSON.stringify(more), { spec: sub, metadata: { ownerReferences: [owner] } })).rejects.toThrow(
        'no verified component of its parent refers to it',
      )
    }
  })
})

describe('an installation without component', () => {
  it('reads only its Context, and nothing when its Context is the default', async () => {
    const blueprint = { inline: { filesystem: { 'blueprint.yaml': blueprintYaml('string') } } }
    const spec = { context: 'default', componentDescriptor: undefined, blueprint }
    expect(await typeIn('one', { spec })).toEqual({ type: 'string' })
    const metadata = { name: 'i', namespace: 'n' }
    await checkContext(deps, storedAs(installationKind, { metadata, spec }))
    expect(api.requests).toEqual([])
    await checkContext(deps, storedAs(installationKind, { metadata, spec: { ...spec, context: 'parts' } }))
    expect(api.requests).toHaveLength(1)
  })
})

describe('a job does not wait for a Context', () => {
  const COMPONENT = { componentDescriptor: ofComponent.componentDescriptor }

  async function awaited(spec: object, excluded: readonly string[] | undefined, metadata: object = {}) {
    const defaultContexts = excluded && { excluded, repositoryContext: undefined }
    const subject = { kind: 'Installation', uid: 'u', namespace: 'n', name: 'i' }
    const waiting = { by: { workflowID: 'w', runID: 'r', pass: 1 }, subject, jobID: 'one' }
    const installation = storedAs(installationKind, { metadata: { name: 'i', namespace: 'n', ...metadata }, spec })
    return await awaitContext({ kube, landscaper: { defaultContexts } } as LandscaperDeps, waiting, installation)
  }

  it.each([
    ['when it reads no component', {}, [], {}],
    ['when it names another one', { ...COMPONENT, context: 'parts' }, [], {}],
    ['in a namespace that is excluded', COMPONENT, ['n'], {}],
    ['where Pawl creates none', COMPONENT, undefined, {}],
    ['of an object under deletion', COMPONENT, [], { deletionTimestamp: '2026-01-01T00:00:00Z' }],
  ])('%s, and does not read it', async (_, spec, excluded, metadata) => {
    expect(await awaited(spec, excluded, metadata)).toBeUndefined()
    expect(api.requests).toEqual([])
  })

  it('that exists, and reads it once', async () => {
    api.put(`/apis/${API}/namespaces/n/contexts/default`, { metadata: { name: 'default', namespace: 'n' } })
    expect(await awaited(COMPONENT, [])).toBeUndefined()
    expect(api.requests).toHaveLength(1)
  })
})

describe('the cache of blueprints of running jobs', () => {
  it('removes the least recently used blueprint, and never stores one above the limit', async () => {
    const blueprints = new JobBlueprints(2500)
    const counts: string[] = []
    const of = async (jobID: string, bytes = 1000) =>
      await blueprints.of({ uid: 'u', jobID, generation: 1 }, () => {
        counts.push(jobID)
        const blueprint = { files: { a: 'x'.repeat(bytes) } }
        return Promise.resolve(blueprint as unknown as Awaited<ReturnType<typeof read>>)
      })
    for (const jobID of ['a', 'b', 'a', 'c', 'a', 'b']) await of(jobID)
    expect(counts).toEqual(['a', 'b', 'c', 'b'])
    await of('huge', 5000)
    await of('huge', 5000)
    await of('a')
    expect(counts.slice(4)).toEqual(['huge', 'huge'])
  })
})
