// Readiness and exports of real objects: a Deployment that its controllers roll out, objects that the test patches, labels across namespaces.

import { describe, expect, it } from 'vitest'
import type { DeployStep } from '../../activities/landscaper/deploy/run/deployer.ts'
import {
  checkReadiness,
  type ManagedObject,
} from '../../activities/landscaper/deploy/objects/readiness/check-readiness.ts'
import { readReadinessConfig } from '../../activities/landscaper/deploy/objects/readiness/readiness-config.ts'
import { readExports, readExportsConfig } from '../../activities/landscaper/deploy/objects/resource-exports.ts'
import { until, useTargetStage } from './target-stage.ts'
import { data } from '../activities/landscaper/tenant-data.ts'

const NAMESPACE = 'readiness'
const stage = useTargetStage(NAMESPACE)
const APPS = `/apis/apps/v1/namespaces/${NAMESPACE}`

async function work() {
  await stage()
    .target('cluster', { config: { kubeconfig: stage().text } })
    .catch(() => undefined)
  const openTarget = (name: string) => stage().open(name)
  return { target: await openTarget('cluster'), openTarget, data, signal: new AbortController().signal }
}

async function look(objects: readonly ManagedObject[], checks?: unknown): Promise<DeployStep> {
  const mistakes: string[] = []
  const config = readReadinessConfig(checks, 'readinessChecks', mistakes)
  expect(mistakes).toEqual([])
  return await checkReadiness({ work: await work(), objects, config })
}

async function exported(exports: readonly object[], values?: unknown): Promise<DeployStep> {
  const mistakes: string[] = []
  const config = readExportsConfig({ exports }, 'exports', { mistakes, hasValues: values !== undefined })
  expect(mistakes).toEqual([])
  return await readExports({ work: await work(), exports: config, deployer: 'manifest', values })
}

const create = async (collection: string, body: object) => await stage().admin.request('POST', collection, { body })

async function configMap(name: string, data: object, labels: object = {}, namespace = NAMESPACE): Promise<void> {
  await create(`/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name, labels }, data })
}

const reference = (kind: string, name: string, apiVersion = 'v1') => ({ apiVersion, kind, name, namespace: NAMESPACE })

function template(nodeSelector: object): object {
  const spec = { nodeSelector, containers: [{ name: 'c', image: 'example.org/none' }] }
  return { metadata: { labels: { app: 'web' } }, spec }
}

describe('the objects of an item', () => {
  it('are ready only when they exist and their Deployment is rolled out', async () => {
    const objects = [reference('Deployment', 'web', 'apps/v1')]
    const checkpoint = `deployer: during readiness check - resource ${NAMESPACE}/web of type Deployment`
    expect(await look(objects)).toEqual({
      result: 'waiting',
      checkpoint,
      waitingFor: 'Deployment "readiness/web": it does not exist',
      hasVanished: true,
    })

    const selector = { matchLabels: { app: 'web' } }
    const spec = { replicas: 2, selector, template: template({ 'no-such': 'node' }) }
    await create(`${APPS}/deployments`, { metadata: { name: 'web' }, spec })
    const waitingFor = 'Deployment "readiness/web": 0 of 2 replicas available'
    await expect.poll(async () => await look(objects)).toMatchObject({ waitingFor })
    expect(await look(objects, { disableDefault: true })).toEqual({ result: 'done' })

    await stage().patch(`${APPS}/deployments/web`, { spec: { template: template({ 'no-such': null }) } })
    await until(async () => (await look(objects)).result === 'done')
  })
})

describe('custom readiness checks', () => {
  const check = (change: object) => ({ disableDefault: true, custom: [{ name: 'mine', ...change }] })
  const phase = (...values: unknown[]) => [
    { jsonPath: '.data.phase', operator: 'in', values: values.map((value) => ({ value })) },
  ]

  it('wait for a field that another client writes', async () => {
    await configMap('phase', {})
    const checks = check({ resourceSelector: [reference('ConfigMap', 'phase')], requirements: phase('Done', 'Fine') })
    const checkpoint = `deployer: during readiness check - resource ${NAMESPACE}/phase of type ConfigMap`
    expect(await look([], checks)).toEqual({
      result: 'waiting',
      checkpoint,
      waitingFor: 'check "mine": ConfigMap "readiness/phase": .data.phase has no value',
    })
    await stage().patch(`${stage().core}/configmaps/phase`, { data: { phase: 'canary' } })
    expect(await look([], checks)).toEqual({
      result: 'waiting',
      checkpoint,
      waitingFor: 'check "mine": ConfigMap "readiness/phase": .data.phase does not satisfy operator "in"',
    })
    await stage().patch(`${stage().core}/configmaps/phase`, { data: { phase: 'Fine' } })
    expect(await look([], checks)).toEqual({ result: 'done' })
  })

  it('select objects by labels in all namespaces, and list them again for each check', async () => {
    const labels = { 'readiness-test': 'replaced' }
    const labelSelector = { apiVersion: 'v1', kind: 'ConfigMap', matchLabels: labels }
    const checks = check({ labelSelector, requirements: phase('Done') })
    expect(await look([], checks)).toMatchObject({
      waitingFor: 'check "mine": no ConfigMap has the labels of labelSelector',
    })
    await configMap('here', { phase: 'Done' }, labels)
    await configMap('readiness-there', { phase: 'Old' }, labels, 'default')
    expect(await look([], checks)).toMatchObject({
      waitingFor: expect.stringContaining('ConfigMap "default/readiness-there": .data.phase') as unknown,
    })
    await stage().admin.request('DELETE', '/api/v1/namespaces/default/configmaps/readiness-there')
    expect(await look([], checks)).toEqual({ result: 'done' })
    expect(
      await look([], check({ labelSelector: { ...labelSelector, kind: 'Nothing' }, requirements: phase('Done') })),
    ).toMatchObject({ result: 'waiting' })
  })

  it('read from another Target when they name one', async () => {
    await configMap('elsewhere', { phase: 'Done' })
    const there = { resourceSelector: [reference('ConfigMap', 'elsewhere')], requirements: phase('Done') }
    await expect(look([], check({ ...there, targetName: 'absent' }))).rejects.toMatchObject({ reason: 'NoTargetFound' })
    await stage().target('another', { config: { kubeconfig: stage().text } })
    expect(await look([], check({ ...there, targetName: 'another' }))).toEqual({ result: 'done' })
  })
})

describe('exports of resources', () => {
  it('are nested and merged, and values from Secrets stay base64-encoded', async () => {
    await configMap('source', { 'tls.crt': 'cert', a: '1' })
    await stage().secret('credentials', { password: 'canary' })
    const fromResource = reference('ConfigMap', 'source')
    expect(
      await exported([
        { key: 'all', jsonPath: '.data', fromResource },
        { key: 'all.more.crt', jsonPath: ".data['tls.crt']", fromResource },
        { key: 'all.a', jsonPath: 'data.a', fromResource },
        { key: 'password', jsonPath: '.data.password', fromResource: reference('Secret', 'credentials') },
        { key: 'several', jsonPath: '.metadata["name","namespace"]', fromResource },
      ]),
    ).toEqual({
      result: 'done',
      exports: {
        all: { 'tls.crt': 'cert', a: '1', more: { crt: 'cert' } },
        password: Buffer.from('canary').toString('base64'),
        several: ['source', NAMESPACE],
      },
    })
  })

  it('follow a reference from one object to another', async () => {
    await create(`${stage().core}/pods`, {
      metadata: { name: 'pod' },
      spec: { containers: [{ name: 'c', image: 'example.org/none' }] },
    })
    await until(async () => {
      const { spec } = await stage().admin.request<{ spec: { serviceAccountName?: string } }>(
        'GET',
        `${stage().core}/pods/pod`,
      )
      return spec.serviceAccountName !== undefined
    })
    await stage().secret('pointed-at', { token: 'x' })
    await create(`${APPS}/controllerrevisions`, {
      metadata: { name: 'pointer' },
      revision: 1,
      data: {
        ref: { name: 'pointed-at', namespace: NAMESPACE },
        local: { name: 'pointed-at' },
        text: 'canary',
        gone: { name: 'canary' },
      },
    })
    const follow = (path: string) => ({
      key: 'k',
      jsonPath: '.data.token',
      fromResource: reference('ControllerRevision', 'pointer', 'apps/v1'),
      fromObjectRef: { apiVersion: 'v1', kind: 'Secret', jsonPath: path },
    })
    expect(await exported([follow('.data.ref')])).toEqual({ result: 'done', exports: { k: 'eA==' } })
    expect(await exported([follow('.data.local')])).toEqual({ result: 'done', exports: { k: 'eA==' } })
    const checkpoint = 'manifest deployer: before reading export values'
    expect(await exported([follow('.data.text')])).toEqual({
      result: 'waiting',
      checkpoint,
      waitingFor: 'export "k": .data.text: found another text; expected a map with name and namespace',
    })
    expect(await exported([follow('.data.gone')])).toEqual({
      result: 'waiting',
      checkpoint,
      waitingFor: 'export "k": the Secret that .data.gone names does not exist',
    })
  })

  it('wait until the object and the field exist', async () => {
    await configMap('late', {})
    const entry = { key: 'k', jsonPath: '.data.value', fromResource: reference('ConfigMap', 'late') }
    expect(await exported([entry])).toMatchObject({
      waitingFor: 'export "k": ConfigMap "readiness/late": .data.value has no value',
    })
    const gone = { ...entry, fromResource: reference('ConfigMap', 'gone') }
    expect(await exported([gone])).toMatchObject({
      waitingFor: 'export "k": ConfigMap "readiness/gone" does not exist',
    })
    await stage().patch(`${stage().core}/configmaps/late`, { data: { value: '' } })
    expect(await exported([entry])).toEqual({ result: 'done', exports: { k: '' } })
  })

  it('without a resource come from the values of the chart', async () => {
    const values = { Values: { replicas: 3 } }
    expect(await exported([{ key: 'n', jsonPath: '.Values.replicas' }], values)).toEqual({
      result: 'done',
      exports: { n: 3 },
    })
    expect(await exported([{ key: 'n', jsonPath: '.Values.gone' }], values)).toMatchObject({
      waitingFor: 'export "n": the values of the chart: .Values.gone has no value',
    })
  })
})
