// The runner of items around a deployer that does as the test says: what the item shows, what is written, and when Temporal comes again.

import { ApplicationFailure } from '@temporalio/common'
import { beforeEach, describe, expect, inject, it } from 'vitest'

import { DeployError, type Deployer, type DeployStep, type ItemWork } from '../../activities/deploy/deployer.ts'
import type { TargetCluster } from '../../activities/deploy/target/target-cluster.ts'
import { type ItemAct, type ItemResult, runItem } from '../../activities/deploy/run-item.ts'
import type { Deps } from '../../activities/deps.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { deployItemKind, FINALIZER } from '../../workflows/deploy-item/kind.ts'

import { refusal, type TinyApi } from '../activities/kube/tiny-api.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'

const TYPE = 'landscaper.gardener.cloud/kubernetes-manifest'
const PATH = `/apis/${deployItemKind.apiVersion}/namespaces/n/deployitems/a`
const BY = { workflowID: 'deploy/uid-exec/job', runID: 'run', pass: 1 }
const PROVIDER = { apiVersion: 'test/v1', kind: 'ProviderStatus', managedResources: [{ name: 'x' }] }
// Long after the time at which the stage stands still.
const LONG_AGO = '2029-01-01T00:00:00Z'
const JUST_NOW = '2029-12-31T23:59:58Z'

const stage = useWriteStage(inject('servers').databaseUrl)
let api: TinyApi
let deps: Deps
let answers: (DeployStep | ((work: ItemWork) => Promise<DeployStep>))[]
let calls: string[]
let intend: Deployer['intend']

beforeEach(() => {
  ;({ api, deps } = stage())
  ;[answers, calls, intend] = [[], [], () => undefined]
  deps = { ...deps, targets: { open: openTarget, close: () => Promise.resolve() } }
})

function openTarget(namespace: string, name: string): Promise<TargetCluster> {
  if (name === 'here') return Promise.resolve({ kube: deps.kube, servedKind: () => Promise.resolve(undefined) })
  const codes = ['ERR_CONFIGURATION_PROBLEM']
  return Promise.reject(
    new DeployError('OpenTarget', 'NoTargetFound', `target ${namespace}/${name}: there is none`, codes),
  )
}

function item(spec: object = {}, status: object = {}, metadata: object = {}): KubeObject {
  return api.put(PATH, {
    ...{ apiVersion: deployItemKind.apiVersion, kind: 'DeployItem' },
    metadata: { name: 'a', namespace: 'n', uid: 'uid-a', generation: 1, finalizers: [FINALIZER], ...metadata },
    spec: { type: TYPE, target: { name: 'here' }, config: {}, ...spec },
    status: { jobID: 'job', ...status },
  })
}

const status = () => api.objects.get(PATH)?.['status'] as Readonly<Record<string, unknown>>
const statusWrites = () => api.requests.filter((request) => request === 'PATCH a/status').length

async function run(act: ItemAct = 'install', attempt = 1): Promise<ItemResult> {
  const answer = (call: string) => (work: ItemWork) => {
    calls.push(call)
    const next = answers.shift()
    if (next === undefined) throw new Error('no answer is left')
    return typeof next === 'function' ? next(work) : Promise.resolve(next)
  }
  const deployer: Deployer = {
    ...{ type: TYPE, name: 'test', ...(intend !== undefined && { intend }) },
    ...{ install: answer('install'), check: answer('check'), uninstall: answer('uninstall') },
  }
  const input = { by: BY, jobID: 'job', uid: 'uid-a', namespace: 'n', name: 'a' }
  return await runItem(deps, [deployer], { input, act, attempt, signal: new AbortController().signal })
}

async function failureOf(run: Promise<unknown>): Promise<ApplicationFailure> {
  const error: unknown = await run.catch((failure: unknown) => failure)
  if (!(error instanceof ApplicationFailure)) throw new Error(`expected an ApplicationFailure, found ${String(error)}`)
  return error
}

const waiting: DeployStep = {
  ...{ result: 'waiting', checkpoint: 'deployer: during readiness check - x', waitingFor: 'Deployment n/x: 0 of 1' },
  providerStatus: PROVIDER,
}
const failed = (codes: readonly string[] = [], message = 'it did not work'): DeployStep => ({
  ...{ result: 'failed', error: new DeployError('Apply', 'Broken', message, codes), providerStatus: PROVIDER },
})

describe('an item that is deployed', () => {
  it('ends with one write when it is ready at the first look', async () => {
    item()
    answers = [{ result: 'done', providerStatus: PROVIDER }]
    const { item: after, isWaiting } = await run()
    expect([after?.phase, after?.jobIDFinished, isWaiting]).toEqual(['Succeeded', 'job', false])
    expect(status()).toMatchObject({ providerStatus: PROVIDER, observedGeneration: 1, deployer: { name: 'test' } })
    expect(status()).not.toHaveProperty('conditions')
    expect(statusWrites()).toBe(1)
  })

  it('ends with two when it has to wait, and says for what; looks in between write nothing', async () => {
    item()
    answers = [waiting, waiting, { result: 'done', providerStatus: PROVIDER, exports: { ip: '1' } }]
    expect((await run()).isWaiting).toBe(true)
    const condition = { type: 'ResourcesReady', status: 'False', message: 'Deployment n/x: 0 of 1' }
    expect(status()).toMatchObject({ phase: 'Progressing', conditions: [condition], providerStatus: PROVIDER })
    const look = await failureOf(run('check', 3))
    expect([look.type, look.nonRetryable, look.nextRetryDelay]).toEqual(['NotReady', false, 450])
    expect(statusWrites()).toBe(1)
    await run('check', 4)
    expect(status()).toMatchObject({ phase: 'Succeeded', jobIDFinished: 'job', exportRef: { name: 'a-export' } })
    expect(status()['conditions']).toMatchObject([{ status: 'True' }])
    expect(statusWrites()).toBe(2)
    expect(api.objects.get('/api/v1/namespaces/n/secrets/a-export')).toBeDefined()
  })

  it('says what it waits for now when that takes long, once', async () => {
    item()
    answers = [waiting, ...[3, 6, 7].map(() => ({ ...waiting, waitingFor: 'Deployment n/x: 1 of 2' }))]
    await run()
    await failureOf(run('check', 3))
    expect(statusWrites()).toBe(1)
    await failureOf(run('check', 6))
    await failureOf(run('check', 7))
    expect(status()['conditions']).toMatchObject([{ status: 'False', message: 'Deployment n/x: 1 of 2' }])
    expect(statusWrites()).toBe(2)
  })

  it('looks every 5 s at the longest, and at its time-out', async () => {
    item({}, { phase: 'Progressing', transitionTimes: { initTime: JUST_NOW } })
    answers = [waiting]
    expect((await failureOf(run('check', 50))).nextRetryDelay).toBe(5000)
    item({ timeout: '3s' }, { phase: 'Progressing', transitionTimes: { initTime: JUST_NOW } })
    answers = [waiting]
    expect((await failureOf(run('check', 50))).nextRetryDelay).toBe(1000)
  })

  it('times out, with the place and what it waited for; never with timeout none', async () => {
    const started = { phase: 'Progressing', transitionTimes: { initTime: LONG_AGO } }
    item({ timeout: 'none' }, started)
    answers = [waiting]
    expect((await failureOf(run('check'))).type).toBe('NotReady')
    item({}, started)
    answers = [waiting]
    await run('check')
    expect(status()).toMatchObject({
      ...{ phase: 'Failed', jobIDFinished: 'job', providerStatus: PROVIDER },
      lastError: {
        ...{ reason: 'ProgressingTimeout', codes: ['ERR_TIMEOUT'] },
        message: 'timeout at: "deployer: during readiness check - x": Deployment n/x: 0 of 1',
      },
    })
  })
})

describe('an item that fails', () => {
  it('is tried again in 5 s, keeps its first and last errors, and writes an error once', async () => {
    item()
    answers = [failed(), failed(), failed([], 'another'), { result: 'done', providerStatus: PROVIDER }]
    expect((await failureOf(run())).nextRetryDelay).toBe(5000)
    expect(status()).toMatchObject({ phase: 'Progressing', providerStatus: PROVIDER, lastError: { reason: 'Broken' } })
    await failureOf(run())
    expect(statusWrites()).toBe(1)
    await failureOf(run())
    expect(status()).toMatchObject({
      ...{ firstError: { message: 'it did not work' }, lastError: { message: 'another' } },
      lastErrors: [{ message: 'it did not work' }, { message: 'another' }],
    })
    await run()
    expect(status()).toMatchObject({ phase: 'Succeeded', firstError: { message: 'it did not work' } })
    expect(status()).not.toHaveProperty('lastError')
  })

  it('does not go on saying that all is ready', async () => {
    const times = { lastTransitionTime: LONG_AGO, lastUpdateTime: LONG_AGO }
    const ready = { type: 'ResourcesReady', status: 'True', reason: 'ResourcesReady', message: 'all', ...times }
    item({}, { conditions: [ready] })
    answers = [failed(), failed(['ERR_UNAUTHORIZED'])]
    await failureOf(run())
    expect(status()['conditions']).toMatchObject([{ status: 'False', message: 'it did not work' }])
    await run()
    expect(status()['conditions']).toMatchObject([{ status: 'False' }])
  })

  it.each([
    ['with a code that trying again cannot cure', failed(['ERR_CONFIGURATION_PROBLEM']), 'Broken'],
    ['when its server refuses what it shall remember', undefined, 'Invalid'],
  ])('ends at once %s', async (_, step, reason) => {
    item()
    answers = [step ?? { result: 'done', providerStatus: { ...PROVIDER, huge: true } }]
    api.intercept = ({ body }) => (JSON.stringify(body).includes('huge') ? refusal(422, 'Invalid') : undefined)
    await run()
    expect(status()).toMatchObject({ phase: 'Failed', jobIDFinished: 'job', lastError: { reason } })
  })

  it('remembers what was deployed although somebody else has ended it meanwhile', async () => {
    item()
    answers = [{ result: 'done', providerStatus: PROVIDER }]
    let isInterrupted = false
    api.intercept = ({ method }) => {
      if (method === 'PATCH' && !isInterrupted) {
        isInterrupted = true
        item(
          {},
          {
            phase: 'Failed',
            jobIDFinished: 'job',
            lastError: { reason: 'InterruptOperation', message: 'interrupted' },
          },
        )
      }
      return undefined
    }
    await run()
    expect(status()).toMatchObject({
      ...{ phase: 'Failed', providerStatus: PROVIDER, lastError: { reason: 'InterruptOperation' } },
    })
  })

  it.each([
    ['has no target', { target: undefined }, 'spec.target is absent'],
    ['names a target that is not there', { target: { name: 'nowhere' } }, 'target n/nowhere: there is none'],
    ['names a target elsewhere', { target: { name: 'here', namespace: 'other' } }, 'spec.target.namespace is other'],
    ['has a time-out that is none', { timeout: 'soon' }, 'spec.timeout is another text'],
  ])('ends at once when it %s', async (_, spec, message) => {
    item(spec)
    await run()
    expect(status()).toMatchObject({
      phase: 'Failed',
      lastError: { message: expect.stringContaining(message) as string },
    })
    expect(calls).toEqual([])
  })
})

describe('what an item will create', () => {
  const intended = { ...PROVIDER, managedResources: [{ name: 'x' }, { name: 'y' }] }

  it('is remembered before it is sent', async () => {
    item()
    intend = () => intended
    answers = [
      () => {
        expect(status()).toMatchObject({ phase: 'Progressing', providerStatus: intended })
        return Promise.resolve({ result: 'done', providerStatus: PROVIDER })
      },
    ]
    await run()
    expect(status()).toMatchObject({ phase: 'Succeeded', providerStatus: PROVIDER })
    expect(statusWrites()).toBe(2)
  })

  it('is known to be sent before it is waited for', async () => {
    item()
    intend = () => intended
    answers = [waiting]
    expect((await run()).isWaiting).toBe(true)
    expect(status()).toMatchObject({
      phase: 'Progressing',
      providerStatus: PROVIDER,
      conditions: [{ status: 'False' }],
    })
    expect(statusWrites()).toBe(2)
  })

  it('is not sent when it cannot be remembered, or another hand was faster', async () => {
    item()
    intend = () => intended
    api.intercept = ({ body }) => (JSON.stringify(body).includes('"y"') ? refusal(422, 'Invalid') : undefined)
    await run()
    expect(status()).toMatchObject({ phase: 'Failed', lastError: { reason: 'Invalid' } })
    let isEnded = false
    api.intercept = ({ method }) => {
      if (method === 'PATCH' && !isEnded) {
        isEnded = true
        item({}, { phase: 'Failed', jobIDFinished: 'job', lastError: { reason: 'Interrupt', message: 'interrupted' } })
      }
      return undefined
    }
    item()
    await run()
    expect(calls).toEqual([])
  })

  it('may be spoilt by its configuration', async () => {
    item()
    intend = () => {
      throw new DeployError('Reconcile', 'ConfigurationProblem', 'wrong', ['ERR_CONFIGURATION_PROBLEM'])
    }
    await run()
    expect(status()).toMatchObject({ phase: 'Failed', lastError: { reason: 'ConfigurationProblem' } })
  })
})

describe('a call of a deployer', () => {
  const untilAborted = ({ signal }: ItemWork) =>
    new Promise<DeployStep>((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')))
    })

  it('is ended within two seconds when another hand ends the item', async () => {
    item()
    answers = [untilAborted]
    const running = run()
    item({}, { phase: 'Failed', jobIDFinished: 'job', lastError: { reason: 'Interrupt', message: 'interrupted' } })
    expect((await running).item).toMatchObject({ phase: 'Failed', jobIDFinished: 'job' })
    expect(status()).toMatchObject({ lastError: { reason: 'Interrupt' } })
  })

  it('is ended by the time-out of the item', async () => {
    item({ timeout: '300ms' })
    answers = [untilAborted]
    await run()
    const message = 'timeout at: "test deployer: start reconcile": the target did not answer in time'
    expect(status()).toMatchObject({ phase: 'Failed', lastError: { reason: 'ProgressingTimeout', message } })
  })

  it('that fails in a way of its own is tried again, and times out like any other', async () => {
    const broken = () => Promise.reject<DeployStep>(new TypeError('secret-7d3f'))
    item()
    answers = [broken]
    expect((await failureOf(run())).type).toBe('DeployFailed')
    expect(status()).toMatchObject({ phase: 'Progressing', lastError: { reason: 'InternalProblem' } })
    expect(JSON.stringify(status())).not.toContain('secret-7d3f')
    item({}, { phase: 'Progressing', transitionTimes: { initTime: LONG_AGO } })
    answers = [broken]
    await run()
    expect(status()).toMatchObject({ phase: 'Failed', lastError: { codes: ['ERR_TIMEOUT'] } })
  })

  it('that came to nothing begins the clock of the job', async () => {
    item()
    answers = [waiting]
    await run('install', 2)
    expect(status()).toMatchObject({ phase: 'Progressing', transitionTimes: { initTime: '2030-01-01T00:00:00.000Z' } })
  })
})

describe('the exports of an item', () => {
  const SECRET = '/api/v1/namespaces/n/secrets/a-export'
  const exporting: DeployStep = { result: 'done', providerStatus: PROVIDER, exports: { ip: '1' } }
  const secret = (owner?: object): KubeObject => ({
    ...{ apiVersion: 'v1', kind: 'Secret', data: { config: 'b2xk' } },
    metadata: { ...{ name: 'a-export', namespace: 'n', uid: 'uid-s' }, ...owner },
  })

  it.each([
    [422, 'Invalid', 'Failed'],
    [403, 'Forbidden', 'Progressing'],
  ])('that are refused with %d say so, and time out', async (code, reason, phase) => {
    item()
    answers = [exporting, exporting]
    api.intercept = ({ method }) => (method === 'POST' ? refusal(code, reason) : undefined)
    await run().catch(() => undefined)
    expect(status()).toMatchObject({ phase, providerStatus: PROVIDER, lastError: { operation: 'Export', reason } })
    if (phase === 'Failed') return
    item({}, { phase, transitionTimes: { initTime: LONG_AGO } })
    await run()
    expect(status()).toMatchObject({ phase: 'Failed', lastError: { reason: 'ProgressingTimeout' } })
  })

  it('never go to a Secret that is not the item’s', async () => {
    api.put(SECRET, secret())
    item()
    answers = [exporting]
    await run()
    expect(status()).toMatchObject({ phase: 'Failed', lastError: { reason: 'NameTaken' } })
    expect(api.objects.get(SECRET)?.['data']).toEqual({ config: 'b2xk' })
  })

  it('wait for what an earlier item of the name has left', async () => {
    const owner = {
      apiVersion: deployItemKind.apiVersion,
      kind: 'DeployItem',
      name: 'a',
      uid: 'gone',
      controller: true,
    }
    api.put(SECRET, secret({ ownerReferences: [owner] }))
    item()
    answers = [exporting]
    expect((await failureOf(run())).message).toContain('BeingDeleted')
  })
})

describe('an item that is not the deployer’s to do', () => {
  it.each([
    ['is finished', {}, { phase: 'Succeeded', jobIDFinished: 'job' }],
    ['has another job', {}, { jobID: 'other' }],
  ])('is left alone when it %s', async (_, spec, found) => {
    item(spec, found)
    expect((await run()).isWaiting).toBe(false)
    expect([calls, statusWrites()]).toEqual([[], 0])
  })

  it('is finished at once when it did not change and asks for no more', async () => {
    item({ updateOnChangeOnly: true }, { phase: 'Succeeded', observedGeneration: 1, jobIDFinished: 'job-0' })
    await run()
    expect(status()).toMatchObject({ phase: 'Succeeded', jobIDFinished: 'job' })
    expect(calls).toEqual([])
  })
})

describe('an item that is deleted', () => {
  const deleted = { deletionTimestamp: LONG_AGO }

  it('is let go with one write when nothing is left', async () => {
    item({}, { providerStatus: PROVIDER }, deleted)
    answers = [{ result: 'done' }]
    expect((await run('uninstall')).item).toBeUndefined()
    expect(statusWrites()).toBe(0)
  })

  it('waits in Deleting, looks at least every second, and fails at its time-out with the last error', async () => {
    item({}, { phase: 'Succeeded', jobIDFinished: 'job-0', providerStatus: PROVIDER }, deleted)
    answers = [waiting]
    const look = await failureOf(run('uninstall', 9))
    expect([look.type, look.nextRetryDelay]).toEqual(['NotGone', 1000])
    expect(status()).toMatchObject({ phase: 'Deleting' })
    item({}, { phase: 'Deleting', transitionTimes: { initTime: LONG_AGO }, providerStatus: PROVIDER }, deleted)
    answers = [failed([], 'not allowed')]
    await run('uninstall')
    expect(status()).toMatchObject({
      ...{ phase: 'DeleteFailed', jobIDFinished: 'job' },
      lastError: { operation: 'Delete', message: 'timeout at: "test deployer: start delete": not allowed' },
    })
  })

  it.each([
    [
      'is to be let go without uninstallation',
      {},
      { annotations: { 'landscaper.gardener.cloud/delete-without-uninstall': 'true' } },
    ],
    ['was never deployed, and its target is gone', { target: { name: 'nowhere' } }, {}],
    ['was never deployed, and names a target elsewhere', { target: { name: 'here', namespace: 'other' } }, {}],
  ])('asks no deployer when it %s', async (_, spec, metadata) => {
    item(spec, {}, { ...deleted, ...metadata })
    expect((await run('uninstall')).item).toBeUndefined()
    expect(calls).toEqual([])
  })

  it('fails when it was deployed to a target that is gone', async () => {
    item({ target: { name: 'nowhere' } }, { providerStatus: PROVIDER }, deleted)
    await run('uninstall')
    expect(status()).toMatchObject({ phase: 'DeleteFailed', lastError: { reason: 'NoTargetFound' } })
  })
})
