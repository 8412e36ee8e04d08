// Defines the interface of deployers. Each folder `<name>/` next to this one exports one as `deployer` from `<name>/deployer.ts`; `pawl gen` lists
// them in deployers.gen.ts. The runners implement the rest of the contract for all deployers (phases, job IDs, errors, timeouts, exports, Events):
// run-item.ts for long deployers, answer-items.ts for quick ones. Source: spec/landscaper.md 2.9, 4.9.

import type { ErrorReport } from '../../../../workflows/kit/index.ts'
import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import type { TenantData } from '../../bounded/tenant-data.ts'
import type { TargetCluster } from '../target/target-cluster.ts'

/** The work of one item in one job. */
export interface Work {
  /** The DeployItem as read from the API server; the deployer reads `spec.config` and `status.providerStatus`. */
  readonly item: DeployItem
  /** Opens another Target of the item's namespace, for configurations that name one (`targetName`). @throws DeployError */
  openTarget(name: string): Promise<TargetCluster>
  /** Evaluates JSONPath and templates on objects of the target, with the tenant's limits. */
  readonly data: TenantData
  /** Aborted when the item's time is up, another process has ended its job, or the worker stops. Long loops check it. */
  readonly signal: AbortSignal
}

/** The work of an item whose deployer needs a target. */
export interface ItemWork extends Work {
  /** The cluster of `spec.target`. */
  readonly target: TargetCluster
}

/** The new `status.providerStatus`; absent: unchanged. Requires `apiVersion` and `kind`. */
export type ProviderStatus = Readonly<Record<string, unknown>>

export type DeployStep =
  /** The work is complete: the item succeeds with these exports or, in an uninstallation, its finalizer is removed. */
  | {
      readonly result: 'done'
      readonly providerStatus?: ProviderStatus
      /** The exports of the item; absent or empty: none. */
      readonly exports?: Readonly<Record<string, unknown>>
    }
  /**
   * Sent objects are not ready, or not deleted, yet; the runner checks again soon. `checkpoint` is the place in the wire format (spec 4.5 "Timeout
   * checkpoints"), `waitingFor` names the object and its missing state, for users.
   */
  | {
      readonly result: 'waiting'
      readonly checkpoint: string
      readonly waitingFor: string
      readonly providerStatus?: ProviderStatus
    }
  | { readonly result: 'failed'; readonly error: DeployError; readonly providerStatus?: ProviderStatus }

/** `Config` is the result of `parse`; only the deployer reads it. */
interface Described<Config> {
  /** The `spec.type` that the deployer handles. */
  readonly type: string
  /**
   * The name of the deployer's folder. Used in `status.deployer`, before the domain of all deployers, and in timeout checkpoints: `<name> deployer:
   * start reconcile`.
   */
  readonly name: string
  /** Parses the item's `spec.config` and reports all mistakes in one error. Pure. @throws DeployError for an invalid configuration. */
  parse(item: DeployItem): Config
  /** The name of the Secret with the item's exports; default: `<item>-export`. */
  exportName?(item: DeployItem): string
}

/** The steps of an item of a long deployer. */
export interface Steps<Given extends Work, Config = unknown> extends Described<Config> {
  /** Each item runs in its own background activity, for up to the item's timeout. */
  readonly pace: 'long'
  /**
   * The provider status that names all objects that `install` may create, in addition to those in the item's status; undefined if there are no more.
   * It is written before anything is sent, so that neither a crash nor an interrupt leaves an unknown object behind. Pure. Absent if the deployed
   * objects are found without it. @throws DeployError for a configuration that cannot be deployed.
   */
  intend?(item: DeployItem, config: Config): ProviderStatus | undefined
  /**
   * Sends the item's objects and checks them once. Repeated after any failure and any crash, so it must be idempotent.
   * An expected failure is a result; DeployError and KubeError may also be thrown, with the same meaning.
   */
  install(work: Given, config: Config): Promise<DeployStep>
  /** Checks the objects that `install` sent: returns the missing state or, when all are ready, the exports. */
  check(work: Given, config: Config): Promise<DeployStep>
  /**
   * One step of the uninstallation: `waiting` until the objects are deleted. Repeated, so it must be idempotent. The configuration may be invalid after
   * an edit.
   */
  uninstall(work: Given): Promise<DeployStep>
}

export type ItemAct = 'install' | 'check' | 'uninstall'

/** Runs one step of an item. @throws DeployError also for an invalid configuration, unless the item is uninstalled. */
export async function takeStep<Given extends Work, Config>(
  deployer: Steps<Given, Config>,
  act: ItemAct,
  work: Given,
): Promise<DeployStep> {
  return act === 'uninstall' ? await deployer.uninstall(work) : await deployer[act](work, deployer.parse(work.item))
}

/** Deploys to the cluster of `spec.target`; an item without a target fails. */
export interface TargetDeployer<Config = unknown> extends Steps<ItemWork, Config> {
  readonly needsTarget: true
}

/** Deploys without a target of the item; it may open Targets that its configuration names. */
export interface FreeDeployer<Config = unknown> extends Steps<Work, Config> {
  readonly needsTarget: false
}

/** A deployer whose items take long. */
export type LongDeployer = TargetDeployer | FreeDeployer

/** A deployer whose results depend on the item alone, and that leaves nothing behind: one call within a pass handles many items. */
export interface QuickDeployer<Config = unknown> extends Described<Config> {
  readonly pace: 'quick'
  readonly needsTarget: false
  /** The reason of a wait, in the message of the item's timeout: `<name> deployer: <checkpoint>`. */
  readonly checkpoint: string
  /** Computes the result of the item. Pure. @throws DeployError, with which the item fails. */
  answer(item: DeployItem, config: Config): QuickAnswer
}

export interface QuickAnswer {
  /** A final phase ends the job; in any other phase the item waits for an edit or for its timeout. */
  readonly phase: string
  /** The reason of the result; required for any final phase except `Succeeded`. */
  readonly error?: ErrorReport
  readonly providerStatus?: ProviderStatus
  /** Absent: no exports, and an existing Secret stays unchanged. */
  readonly exports?: Readonly<Record<string, unknown>>
}

export type Deployer = LongDeployer | QuickDeployer

export function isQuick(deployer: Deployer): deployer is QuickDeployer {
  return deployer.pace === 'quick'
}

/** The long deployer of the item's type. @throws a plain Error (a bug) if there is none. */
export function longDeployerOf(deployers: readonly Deployer[], { spec: { type } }: DeployItem): LongDeployer {
  const deployer = deployers.find((one) => one.type === type)
  if (deployer === undefined || isQuick(deployer)) throw new Error(`no built-in deployer for items of type ${type}`)
  return deployer
}

/**
 * A failure of a deployment, for the item's lastError. The message names object, field, found and expected value, but never a value of the
 * configuration.
 * With one of FINAL_CODES the job ends at once, otherwise it is retried every 5 s until the item's timeout. Source: spec/landscaper.md 1.16, 2.9.
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
