// What a deployer is: one value per folder beside this one, `<name>/deployer.ts`, exported as `deployer`. `pawl gen` lists them
// (deployers.gen.ts); nothing else does. The contract around it - phases, job IDs, errors, time-outs, exports, events - is the runners', the
// same for all: run-item.ts for those that take long, answer-items.ts for quick ones. Source: spec/landscaper.md 2.9, 4.9.

import type { ErrorReport } from '../../../../workflows/kit/index.ts'
import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import type { TenantData } from '../../bounded/tenant-data.ts'
import type { TargetCluster } from '../target/target-cluster.ts'

/** The work of one item in one job. */
export interface Work {
  /** The DeployItem as it was read; its `spec.config` and `status.providerStatus` are the deployer's to read. */
  readonly item: DeployItem
  /** Another Target of the item's namespace, for configurations that name one (`targetName`). @throws DeployError */
  openTarget(name: string): Promise<TargetCluster>
  /** How objects of the target are looked through. */
  readonly data: TenantData
  /** Aborted when the item's time is up, another hand has ended its job, or the worker stops. Long loops look at it. */
  readonly signal: AbortSignal
}

/** The work of an item whose deployer needs a target. */
export interface ItemWork extends Work {
  /** The cluster that `spec.target` names. */
  readonly target: TargetCluster
}

/** What the item's status shall remember; absent = as it was. It needs `apiVersion` and `kind`. */
export type ProviderStatus = Readonly<Record<string, unknown>>

export type DeployStep =
  /** Nothing is left to do: the item succeeds, with these exports, or, when it is uninstalled, is let go. */
  | {
      readonly result: 'done'
      readonly providerStatus?: ProviderStatus
      /** The exports of the item; absent or empty = none. */
      readonly exports?: Readonly<Record<string, unknown>>
    }
  /**
   * What was sent is not ready, or not gone, yet; looked at again soon. `checkpoint` is the wire's word for the place
   * (spec 4.5 "Timeout checkpoints"), `waitingFor` names the object and what it lacks, for people.
   */
  | {
      readonly result: 'waiting'
      readonly checkpoint: string
      readonly waitingFor: string
      readonly providerStatus?: ProviderStatus
    }
  | { readonly result: 'failed'; readonly error: DeployError; readonly providerStatus?: ProviderStatus }

/** `Config` is what `parse` makes of an item's configuration; only the deployer looks into it. */
interface Described<Config> {
  /** The `spec.type` that it serves. */
  readonly type: string
  /** That of its folder. In `status.deployer`, before the domain of all deployers, and in the checkpoints of time-outs: `<name> deployer: start reconcile`. */
  readonly name: string
  /** The item's `spec.config`, all mistakes at once. Pure. @throws DeployError for a configuration that is wrong. */
  parse(item: DeployItem): Config
  /** The name of the Secret with the item's exports; default: `<item>-export`. */
  exportName?(item: DeployItem): string
}

/** How an item goes through a deployer that takes long. */
export interface Steps<Given extends Work, Config = unknown> extends Described<Config> {
  /** Each item is a piece of work of its own, beside the passes; it may take as long as the item's time-out says. */
  readonly pace: 'long'
  /**
   * The provider status that names all that `install` may create, beside what the item remembers already; undefined when that is all. It is
   * written before anything is sent, so that neither a crash nor an interrupt leaves something behind that nobody knows of. Pure.
   * Absent where what was deployed is found without it. @throws DeployError for what cannot be deployed.
   */
  intend?(item: DeployItem, config: Config): ProviderStatus | undefined
  /**
   * Sends what the item describes and takes the first look at it. Repeated after any failure and any crash, so idempotent.
   * An expected failure is a result; DeployError and KubeError may also be thrown, with the same meaning.
   */
  install(work: Given, config: Config): Promise<DeployStep>
  /** One look at what `install` has sent: ready (then also exports are read), or what is missing. */
  check(work: Given, config: Config): Promise<DeployStep>
  /** One step of taking away what was deployed: `waiting` until it is gone. Repeated, so idempotent. An edit may have spoilt the configuration. */
  uninstall(work: Given): Promise<DeployStep>
}

export type ItemAct = 'install' | 'check' | 'uninstall'

/** One step of an item. @throws also DeployError for a configuration that is wrong, unless it is uninstalled. */
export async function takeStep<Given extends Work, Config>(
  deployer: Steps<Given, Config>,
  act: ItemAct,
  work: Given,
): Promise<DeployStep> {
  return act === 'uninstall' ? await deployer.uninstall(work) : await deployer[act](work, deployer.parse(work.item))
}

/** Deploys to the cluster that `spec.target` names; an item without one fails. */
export interface TargetDeployer<Config = unknown> extends Steps<ItemWork, Config> {
  readonly needsTarget: true
}

/** Deploys to what it knows itself; it may open Targets that its configuration names. */
export interface FreeDeployer<Config = unknown> extends Steps<Work, Config> {
  readonly needsTarget: false
}

/** A deployer that takes long. */
export type LongDeployer = TargetDeployer | FreeDeployer

/** Knows from the item alone what comes of it, and leaves nothing behind: many items are answered in one call within a pass. */
export interface QuickDeployer<Config = unknown> extends Described<Config> {
  readonly pace: 'quick'
  readonly needsTarget: false
  /** What an item waits for whose answer is no end, in the message of its time-out: `<name> deployer: <checkpoint>`. */
  readonly checkpoint: string
  /** What becomes of the item. Pure. @throws DeployError: the item fails of it. */
  answer(item: DeployItem, config: Config): QuickAnswer
}

export interface QuickAnswer {
  /** A final one ends the job; in any other the item waits for an edit, or for its time-out. */
  readonly phase: string
  /** Why it ends so; needed with any end but `Succeeded`. */
  readonly error?: ErrorReport
  readonly providerStatus?: ProviderStatus
  /** Absent = none, and a former Secret stays as it is. */
  readonly exports?: Readonly<Record<string, unknown>>
}

export type Deployer = LongDeployer | QuickDeployer

export function isQuick(deployer: Deployer): deployer is QuickDeployer {
  return deployer.pace === 'quick'
}

/**
 * A failure of a deployment, for the item's lastError. The message names object, field, found and expected; never a value of the configuration.
 * With one of FINAL_CODES it ends the job at once, else it is tried again every 5 s until the item's time-out. Source: spec/landscaper.md 1.16, 2.9.
 */
export class DeployError extends Error {
  /** `lastError.operation`, e.g. `ApplyManifests`. */
  readonly operation: string
  /** `lastError.reason`, e.g. `ConfigurationProblem`. */
  readonly reason: string
  readonly codes: readonly string[]

  constructor(operation: string, reason: string, message: string, codes: readonly string[] = []) {
    super(message)
    this.name = 'DeployError'
    this.operation = operation
    this.reason = reason
    this.codes = codes
  }

  get isFinal(): boolean {
    return this.codes.some((code) => FINAL_CODES.has(code))
  }
}

const FINAL_CODES: ReadonlySet<string> = new Set([
  'ERR_CONFIGURATION_PROBLEM',
  'ERR_INTERNAL_PROBLEM',
  'ERR_TIMEOUT',
  'ERR_UNAUTHORIZED',
  'ERR_CYCLIC_DEPENDENCIES',
])
