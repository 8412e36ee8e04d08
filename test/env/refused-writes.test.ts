// Writes that the API server refuses for one item or one export, and exported data with a previous owner.

import { MANAGED_BY_LABEL } from '../../workflows/landscaper/contract.ts'
import { beforeEach, describe, expect, inject, it } from 'vitest'

import { deployers } from '../../activities/landscaper/deploy/deployers.gen.ts'
import { deployer as mockDeployer, mockExportName } from '../../activities/landscaper/deploy/mock/deployer.ts'
import { quickItemActivities } from '../../activities/landscaper/deploy/run/answer-items.ts'
import type { Deployer, QuickDeployer } from '../../activities/landscaper/deploy/run/deployer.ts'
import type { LandscaperDeps } from '../../activities/landscaper/deps.ts'
import { ownerReference } from '../../activities/kube/owners.ts'
import { storedAs } from '../../activities/kube/object-views.ts'
import { writeDataObjects } from '../../activities/landscaper/data-objects.ts'
import { dataObjectKind } from '../../workflows/landscaper/data-object/kind.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { type DeployItem, deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'

import { type TinyApi, refusal } from '../activities/kube/tiny-api.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import { landscaperDeps } from '../activities/landscaper/landscaper-deps.ts'

const ROOT = `/apis/${deployItemKind.apiVersion}/namespaces/n`
const BY = { workflowID: 'execution/n/exec/uid-exec/job', runID: 'run', pass: 1 }

let api: TinyApi
let deps: LandscaperDeps

const stage = useWriteStage(inject('servers').databaseUrl)
beforeEach(() => {
  api = stage().api
  deps = landscaperDeps(stage().deps)
})

const HEAD = { apiVersion: 'mock.deployer.landscaper.gardener.cloud/v1alpha1', kind: 'ProviderConfiguration' }

function item(name: string, config: object, spec: object = {}, status: object = {}): DeployItem {
  const owner = ownerReference(executionKind, { name: 'exec', uid: 'uid-exec' })
  const stored = api.put(`${ROOT}/deployitems/${name}`, {
    apiVersion: deployItemKind.apiVersion,
    kind: 'DeployItem',
    metadata: {
      name,
      namespace: 'n',
      uid: `uid-${name}`,
      generation: 1,
      labels: { [MANAGED_BY_LABEL]: 'exec' },
      ownerReferences: [owner],
    },
    spec: { type: mockDeployer.type, config: { ...HEAD, ...config }, ...spec },
    status: { jobID: 'job', ...status },
  })
  return storedAs(deployItemKind, stored)
}

const statusOf = (name: string) => api.objects.get(`${ROOT}/deployitems/${name}`)?.['status']

async function deploy(refuse: TinyApi['intercept'] = () => undefined, chosen: readonly Deployer[] = deployers) {
  const items = () => [...api.objects.entries()].flatMap(([path, one]) => (path.includes('/deployitems/') ? [one] : []))
  api.intercept = (request) =>
    request.method === 'GET' && request.path.endsWith('/deployitems')
      ? { status: 200, body: { metadata: { resourceVersion: '1' }, items: items() } }
      : refuse(request)
  const chosenItems = items().map(({ metadata: { uid = '', name } }) => ({ uid, item: name }))
  const subject = { kind: 'Execution', uid: 'uid-exec', namespace: 'n', name: 'exec' }
  const input = { by: BY, subject, jobID: 'job', items: chosenItems, ownVersion: 0 }
  return await quickItemActivities(deps, chosen).deployMockItems(input)
}

describe('a batch of mock items', () => {
  it.each([
    [422, 'Invalid', { phase: 'Failed', jobIDFinished: 'job', lastError: { reason: 'Invalid' } }],
    [
      403,
      'Forbidden',
      { phase: 'Progressing', lastError: { reason: 'Forbidden' }, firstError: { reason: 'Forbidden' } },
    ],
  ])('is not delayed by an export that the API server refuses with %d', async (code, reason, expected) => {
    const refused = mockExportName(item('a', { export: { x: 1 } }))
    item('b', { export: { x: 1 } })
    const { failures } = await deploy(({ method, body }) =>
      method === 'POST' && (body['metadata'] as { name: string }).name === refused ? refusal(code, reason) : undefined,
    )
    expect(statusOf('a')).toMatchObject(expected)
    expect(statusOf('a')).not.toHaveProperty('exportRef')
    expect(statusOf('b')).toMatchObject({ phase: 'Succeeded', jobIDFinished: 'job' })
    expect(failures.map((one) => one.code)).toEqual(code === 403 ? ['Forbidden'] : [])
  })

  it('fails an item whose status update the API server refuses, with the reason Invalid', async () => {
    item('a', { providerStatus: { apiVersion: 'v1', kind: 'K', canary: 1 } })
    const { items, failures } = await deploy(({ body }) =>
      JSON.stringify(body).includes('canary') ? refusal(422, 'Invalid') : undefined,
    )
    expect(statusOf('a')).toMatchObject({ phase: 'Failed', jobIDFinished: 'job', lastError: { reason: 'Invalid' } })
    expect([items.length, failures]).toEqual([1, []])
  })

  it('waits in Init after one status write, and times out in Init', async () => {
    item('a', { initialPhase: 'Init' }, { timeout: '1h' })
    await deploy()
    await deploy()
    expect(api.requests.filter((request) => request.startsWith('PATCH'))).toEqual(['PATCH a/status'])
    item('a', { initialPhase: 'Init' }, {}, { phase: 'Init', transitionTimes: { initTime: '2029-01-01T00:00:00Z' } })
    await deploy()
    expect(statusOf('a')).toMatchObject({ phase: 'Failed', lastError: { reason: 'ProgressingTimeout' } })
  })

  it('fails an item whose timeout is too long for a date', async () => {
    item('a', { initialPhase: 'Progressing' }, { timeout: '9999999999h' })
    const { items } = await deploy()
    expect(statusOf('a')).toMatchObject({ phase: 'Failed', lastError: { reason: 'InvalidConfiguration' } })
    expect(items).toMatchObject([{ phase: 'Failed' }])
  })

  it('updates the times of an unchanged item', async () => {
    item('a', {}, { updateOnChangeOnly: true }, { phase: 'Succeeded', observedGeneration: 1 })
    await deploy()
    const now = '2030-01-01T00:00:00.000Z'
    expect(statusOf('a')).toMatchObject({ lastReconcileTime: now, transitionTimes: { finishedTime: now } })
  })
})

describe('an item whose quick deployer throws an unexpected error', () => {
  const broken: QuickDeployer = {
    ...mockDeployer,
    answer: ({ metadata }) => {
      if (metadata.name === 'b') throw new TypeError('canary')
      return { phase: 'Succeeded' }
    },
  }

  it('reports InternalProblem without the error message, is retried, and does not delay its siblings', async () => {
    for (const name of ['a', 'b', 'c']) item(name, {})
    const { items, failures } = await deploy(undefined, [broken])
    expect(items.map(({ name, phase }) => [name, phase])).toEqual([
      ['a', 'Succeeded'],
      ['b', 'Progressing'],
      ['c', 'Succeeded'],
    ])
    expect(failures).toMatchObject([{ object: 'b', code: 'InternalProblem' }])
    expect(statusOf('b')).toMatchObject({ lastError: { reason: 'InternalProblem' } })
    expect(JSON.stringify(statusOf('b'))).not.toContain('canary')
  })

  it('fails at its timeout', async () => {
    item('b', {}, {}, { phase: 'Progressing', transitionTimes: { initTime: '2029-01-01T00:00:00Z' } })
    await deploy(undefined, [broken])
    expect(statusOf('b')).toMatchObject({ phase: 'Failed', lastError: { reason: 'ProgressingTimeout' } })
  })
})

describe('exported data that has an owner', () => {
  const API = deployItemKind.apiVersion
  const owner = ownerReference({ apiVersion: API, kind: 'Installation' }, { name: 'inst', uid: 'new' })
  const other = (name: string) => ({ apiVersion: API, kind: 'Installation', name, uid: 'old', controller: true })
  const foreign = { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'c' }
  const path = `${ROOT}/dataobjects/d`
  const put = (metadata: object) =>
    api.put(path, {
      apiVersion: API,
      kind: 'DataObject',
      metadata: { name: 'd', namespace: 'n', uid: 'd', ...metadata },
    })
  const write = async () => {
    const objects = [{ name: 'd', labels: {}, content: { data: 1 } }]
    const input = { watched: dataObjectKind, namespace: 'n', owner, jobID: 'job', objects }
    await writeDataObjects(deps, { ...BY, step: 'test', fieldManager: 'test' }, input)
  }

  it.each(['inst', 'gone'])('is taken over from previous owner %s, and keeps other references', async (name) => {
    put({ ownerReferences: [other(name), foreign] })
    await write()
    const { data, metadata } = api.objects.get(path) ?? { metadata: { name: '' } }
    expect(data).toBe(1)
    expect(metadata.ownerReferences).toEqual([foreign, owner])
  })

  it('stays with an owner that exists, and makes the write wait while the data is being deleted', async () => {
    put({ ownerReferences: [other('lives')] })
    api.put(`${ROOT}/installations/lives`, { metadata: { name: 'lives', uid: 'old' } })
    await expect(write()).rejects.toMatchObject({ type: 'ExportConflict', nonRetryable: true })
    put({ ownerReferences: [other('inst')], deletionTimestamp: '2030-01-01T00:00:00Z' })
    await expect(write()).rejects.toMatchObject({ type: 'BeingDeleted', nonRetryable: false })
  })
})
