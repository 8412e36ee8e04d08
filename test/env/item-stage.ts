// Provides a DeployItem on a tiny API server, and a deployer whose results the test sets, for tests of the code that
// runs items.

import { FINALIZER } from '../../workflows/landscaper/contract.ts'
import { ApplicationFailure } from '@temporalio/common'
import { beforeEach } from 'vitest'
import {
  type Deployer,
  DeployError,
  type DeployStep,
  type ItemAct,
  type ItemWork,
  type LongDeployer,
} from '../../activities/landscaper/deploy/run/deployer.ts'
import type { TargetCluster } from '../../activities/landscaper/deploy/target/target-cluster.ts'
import type { LandscaperDeps } from '../../activities/landscaper/deps.ts'
import {
  joinOrRun,
  sendActivities,
  type FirstAttempts,
  type SendResult,
} from '../../activities/landscaper/deploy/run/item-activities.ts'
import { type ItemResult, runItem } from '../../activities/landscaper/deploy/run/run-item.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import type { TinyApi } from '../activities/kube/tiny-api.ts'
import { useWriteStage, type WriteStage } from '../activities/kube/write-stage.ts'
import { landscaperDeps } from '../activities/landscaper/landscaper-deps.ts'

const TYPE = 'landscaper.gardener.cloud/kubernetes-manifest'
const PATH = `/apis/${deployItemKind.apiVersion}/namespaces/n/deployitems/a`
const EXECUTION = { kind: 'Execution', uid: 'uid-exec', namespace: 'n', name: 'exec' }
const BY = { workflowID: 'deploy/uid-exec/job', runID: 'run', pass: 1 }
export const PROVIDER = { apiVersion: 'test/v1', kind: 'ProviderStatus', managedResources: [{ name: 'x' }] }
const CALL = {
  input: { by: BY, jobID: 'job', uid: 'uid-a', namespace: 'n', name: 'a' },
  signal: new AbortController().signal,
}
/** Long before the fixed time of the stage's clock. */
export const LONG_AGO = '2029-01-01T00:00:00Z'

type Answer = DeployStep | ((work: ItemWork) => Promise<DeployStep>)

/** `useItemStage` resets it before each test. */
class ItemStage {
  /** The results of the deployer, in the order of its calls. */
  answers: Answer[] = []
  /** The names of the called deployer functions, in order. */
  calls: string[] = []
  /** Returns a status that lists the objects which the deployer will create. */
  intend: NonNullable<LongDeployer['intend']> = () => undefined
  /** The server of all Targets. Undefined: the Targets use a ServiceAccount of the namespace. */
  server: string | undefined = 'https://server'
  /** Whether the deployer works on the item's Target. */
  needsTarget = true
  readonly #current: () => WriteStage

  constructor(current: () => WriteStage) {
    this.#current = current
  }

  get api(): TinyApi {
    return this.#current().api
  }

  /** Creates or replaces the item. */
  item = (spec: object = {}, status: object = {}, metadata: object = {}): KubeObject =>
    this.api.put(PATH, {
      apiVersion: deployItemKind.apiVersion,
      kind: 'DeployItem',
      metadata: { name: 'a', namespace: 'n', uid: 'uid-a', generation: 1, finalizers: [FINALIZER], ...metadata },
      spec: { type: TYPE, target: { name: 'here' }, config: {}, ...spec },
      status: { jobID: 'job', ...status },
    })

  status = () => this.api.objects.get(PATH)?.['status'] as Readonly<Record<string, unknown>>

  statusWrites = () => this.api.requests.filter((request) => request === 'PATCH a/status').length

  run = async (act: ItemAct = 'install', attempt = 1): Promise<ItemResult> =>
    await runItem(this.#deps, this.#deployers, { ...CALL, act, attempt })

  /** Runs the first attempt of the item, like a pass. */
  send = async (sending: FirstAttempts, version = '1'): Promise<SendResult> => {
    const items = [{ uid: 'uid-a', name: 'a', version, uninstalls: false }]
    const input = { by: BY, subject: EXECUTION, jobID: 'job', items }
    return await sendActivities(this.#deps, this.#deployers, sending).sendItems(input)
  }

  /** Runs the item's own activity, which joins the first attempt or makes the next attempts. */
  goOn = async (sending: FirstAttempts, attempt = 1, signal = CALL.signal): Promise<ItemResult> =>
    await joinOrRun(this.#deps, this.#deployers, sending, { ...CALL, act: 'install', attempt, signal })

  get #deps(): LandscaperDeps {
    const openSecret = () => Promise.reject(new Error('no item opens a Secret'))
    const serverOf = () => Promise.resolve(this.server)
    const targets = { open: this.#openTarget, openSecret, serverOf, close: () => Promise.resolve() }
    return landscaperDeps(this.#current().deps, { targets })
  }

  get #deployers(): readonly Deployer[] {
    const { intend } = this
    const acts = { install: this.#answer('install'), check: this.#answer('check') }
    return [
      {
        type: TYPE,
        name: 'test',
        pace: 'long',
        needsTarget: this.needsTarget,
        intend,
        parse: () => undefined,
        ...acts,
        uninstall: this.#answer('uninstall'),
      },
    ]
  }

  #answer(call: string): (work: ItemWork) => Promise<DeployStep> {
    return (work) => {
      this.calls.push(call)
      const next = this.answers.shift()
      if (next === undefined) throw new Error('no answer is left')
      return typeof next === 'function' ? next(work) : Promise.resolve(next)
    }
  }

  #openTarget = (namespace: string, name: string): Promise<TargetCluster> => {
    const { kube } = this.#current().deps
    if (name === 'here')
      return Promise.resolve({ kube, servedKind: () => Promise.resolve(undefined), forgetKinds: () => undefined })
    const codes = ['ERR_CONFIGURATION_PROBLEM']
    return Promise.reject(
      new DeployError('OpenTarget', 'NoTargetFound', `Target "${namespace}/${name}" does not exist; create it`, codes),
    )
  }
}

/** Registers the hooks of the calling test file. */
export function useItemStage(databaseUrl: string): ItemStage {
  const stage = new ItemStage(useWriteStage(databaseUrl))
  beforeEach(() => {
    stage.answers = []
    stage.calls = []
    stage.intend = () => undefined
    stage.needsTarget = true
    stage.server = 'https://server'
  })
  return stage
}

/** @returns the error of a failed run. */
export async function failureOf(run: Promise<unknown>): Promise<ApplicationFailure> {
  const error: unknown = await run.catch((failure: unknown) => failure)
  if (!(error instanceof ApplicationFailure)) throw new Error(`expected an ApplicationFailure, found ${String(error)}`)
  return error
}

export const waiting: DeployStep = {
  result: 'waiting',
  checkpoint: 'deployer: during readiness check - x',
  waitingFor: 'Deployment n/x: 0 of 1',
  providerStatus: PROVIDER,
}

export const failed = (codes: readonly string[] = [], message = 'it did not work'): DeployStep => ({
  result: 'failed',
  error: new DeployError('Apply', 'Broken', message, codes),
  providerStatus: PROVIDER,
})
