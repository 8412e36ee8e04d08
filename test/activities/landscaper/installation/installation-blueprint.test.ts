// How often a job reads the component of its Installation, and what of it is kept.

import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { JobBlueprints } from '../../../../activities/landscaper/components/job-blueprints.ts'
import { createRegistries } from '../../../../activities/landscaper/components/registries.ts'
import type { LandscaperDeps } from '../../../../activities/landscaper/deps.ts'
import { blueprintOf, checkContext } from '../../../../activities/landscaper/installation/installation-blueprint.ts'
import { createKubeClient, type KubeClient } from '../../../../activities/kube/client.ts'
import { storedAs } from '../../../../activities/kube/stored.ts'
import { installationKind } from '../../../../workflows/landscaper/installation/kind.ts'
import { API } from '../../../support/cluster.ts'
import { blob, BLUEPRINT_TYPE, descriptorV2, newRegistry } from '../../../support/component-registry.ts'
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
  const components = { registryFolder: registry.folder, registries, blueprints: new JobBlueprints() }
  deps = { kube, landscaper: { templates: { data }, components } } as LandscaperDeps
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

function read(jobID: string, { generation = 1, spec = {} } = {}) {
  const blueprint = { ref: { resourceName: 'blueprint' } }
  const metadata = { name: 'i', namespace: 'n', uid: 'u', generation }
  const installation = storedAs(installationKind, { metadata, spec: { ...ofComponent, blueprint, ...spec } })
  return blueprintOf(deps, installation, jobID)
}
const typeIn = async (...how: Parameters<typeof read>) => (await read(...how)).localTypes['it']

describe('the component of an installation', () => {
  it('is read once for a job, and anew for the next, or for another spec', async () => {
    expect(await typeIn('one')).toEqual({ type: 'string' })
    registry.write({ 'blobs/blueprint/blueprint.yaml': blueprintYaml('number') })
    expect(await typeIn('one')).toEqual({ type: 'string' })
    expect(api.requests).toHaveLength(1)
    expect(await typeIn('one', { generation: 2 })).toEqual({ type: 'number' })
    expect(await typeIn('two')).toEqual({ type: 'number' })
    expect(api.requests).toHaveLength(3)
  })

  it('is looked for again when it was not there', async () => {
    const missing = { spec: { blueprint: { ref: { resourceName: 'later' } } } }
    await expect(read('one', missing)).rejects.toMatchObject({ code: 'ComponentNotFound' })
    expect(await typeIn('one')).toEqual({ type: 'string' })
  })

  it('is refused when it is to be verified', async () => {
    const spec = { verification: { signatureName: 'a' } }
    await expect(read('one', { spec })).rejects.toMatchObject({ code: 'NotSupported' })
    await expect(read('one', { spec })).rejects.toThrow('spec.verification: found one')
  })

  it('wants the ComponentVersionOverwrites that its Context names', async () => {
    putContext({ repositoryContext: { type: 'local' }, componentVersionOverwrites: 'mine' })
    await expect(read('one')).rejects.toMatchObject({ type: 'ComponentVersionOverwritesNotFound' })
    const overwrites = [{ source: { version: '1.0.0' }, substitution: { version: '9.9.9' } }]
    api.put(`/apis/${API}/namespaces/n/componentversionoverwrites/mine`, {
      ...{ metadata: { name: 'mine', namespace: 'n' }, overwrites },
    })
    await expect(read('one')).rejects.toThrow(`${SHOP}:9.9.9`)
  })

  it('wants the Context that is named', async () => {
    await expect(read('one', { spec: { context: 'none' } })).rejects.toMatchObject({ type: 'ContextNotFound' })
  })
})

describe('an installation without component', () => {
  it('costs no read but that of a Context that it names', async () => {
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

describe('blueprints of open jobs', () => {
  it('are kept up to a size; the one that was longest not used goes first', async () => {
    const kept = new JobBlueprints(2500)
    const counts: string[] = []
    const of = async (jobID: string, bytes = 1000) =>
      await kept.of({ uid: 'u', jobID, generation: 1 }, () => {
        counts.push(jobID)
        const blueprint = { files: { a: 'x'.repeat(bytes) } }
        return Promise.resolve(blueprint as unknown as Awaited<ReturnType<typeof read>>)
      })
    for (const jobID of ['a', 'b', 'a', 'c', 'a', 'b']) await of(jobID)
    expect(counts).toEqual(['a', 'b', 'c', 'b'])
    await of('huge', 5000)
    await of('huge', 5000)
    await of('a')
    expect(counts.slice(4)).toEqual(['huge', 'huge', 'a'])
  })
})
