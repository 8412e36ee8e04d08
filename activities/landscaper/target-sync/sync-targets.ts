// The activities of a TargetSync's passes (workflows/landscaper/target-sync/): one synchronization. Source: spec/landscaper.md 1.9.
//
//   S1. Kubeconfigs are copied from the source into Secrets here. The results have only errors and times, because they enter histories and the
//       status.
//   S2. After any error nothing is removed, so that a source that returns fewer entries for a while removes no Target.

import type { ActivityContext, By } from '../../../workflows/kit/index.ts'
import { CREDENTIALS_UNTIL_ANNOTATION, LAST_TARGET_SYNC_ANNOTATION } from '../../../workflows/landscaper/contract.ts'
import type { Target } from '../../../workflows/landscaper/target/kind.ts'
import type { TargetSync } from '../../../workflows/landscaper/target-sync/kind.ts'
import { KubeError } from '../../kube/errors.ts'
import { inParallel } from '../../kube/in-parallel.ts'
import { fieldManagerOf } from '../../kube/managed-fields.ts'
import { depsOf, type LandscaperDeps } from '../deps.ts'
import { shortenText, toDeployError } from '../deploy/run/deploy-errors.ts'
import { DeployError } from '../deploy/run/deployer.ts'
import { requestShootAccess } from '../deploy/target/gardener.ts'
import { rotateToken } from './rotate-token.ts'
import { KUBECONFIG_KEY, type Source, sourceEntries, type SourceEntry, SyncProblem } from './source-entries.ts'
import {
  hasSecret,
  removeSecret,
  removeSynced,
  syncedTargets,
  type Syncing,
  writeCredentials,
  writeTarget,
} from './synced-objects.ts'
import { shortenList } from '../../../workflows/kit/index.ts'

export interface SyncInput {
  readonly by: By
  readonly spec: TargetSync['spec']
  /** Whether to renew the token of the access. */
  readonly rotates: boolean
}

export interface SyncAnswer {
  /** For users; empty: everything is synchronized. */
  readonly errors: readonly string[]
  readonly rotated: boolean
}

const PARALLEL_ENTRIES = 5
const MOST_ERRORS = 20
const SHOOT_SECONDS = 24 * 60 * 60
const SHOOT_RENEWAL_MS = 12 * 60 * 60_000
/** The next synchronization happens within this time (workflows/landscaper/target-sync/plan.ts). */
const SURELY_LOOKED_MS = 6 * 60_000

/** Synchronizes the Targets of the namespace with the source. Idempotent. */
export async function syncTargets(
  { by, spec, rotates }: SyncInput,
  { subject, parts, signal }: ActivityContext,
): Promise<SyncAnswer> {
  const sync = new Synchronisation(depsOf(parts), { subject, writer: writerOf(by, 'syncTargets') }, spec)
  // The kit's context declares a signal by its structure.
  const rotated = await sync.run(rotates, signal)
  return { errors: shortenList(sync.errors, MOST_ERRORS), rotated }
}

/** Removes all Targets of the namespace that a TargetSync created, with their Secrets. */
export async function removeTargets(
  { by }: Pick<SyncInput, 'by'>,
  { subject, parts }: Pick<ActivityContext, 'subject' | 'parts'>,
): Promise<null> {
  const deps = depsOf(parts)
  const syncing = { subject, writer: writerOf(by, 'removeTargets') }
  const targets = await syncedTargets(deps, syncing)
  await inParallel([...targets.values()], PARALLEL_ENTRIES, (target) => removeSynced(deps, syncing, target))
  await deps.journal.flush(by.workflowID)
  return null
}

class Synchronisation {
  readonly errors: string[] = []
  readonly #deps: LandscaperDeps
  readonly #syncing: Syncing
  readonly #spec: TargetSync['spec']

  constructor(deps: LandscaperDeps, syncing: Syncing, spec: TargetSync['spec']) {
    this.#deps = deps
    this.#syncing = syncing
    this.#spec = spec
  }

  /** @returns whether the token was renewed. */
  async run(rotates: boolean, signal: AbortSignal): Promise<boolean> {
    const { name, key = KUBECONFIG_KEY } = this.#spec.secretRef
    const { namespace } = this.#syncing.subject
    const [deps, syncing, spec] = [this.#deps, this.#syncing, this.#spec]
    const cluster = await this.#try('source', () =>
      deps.landscaper.targets.openSecret(namespace, { name, key }, signal),
    )
    if (cluster === undefined) return false
    const source = { cluster, signal }
    const rotated =
      rotates &&
      (await this.#try('token', async () => {
        await rotateToken(deps, syncing, spec, source)
        return true
      })) === true
    const entries = await this.#try('source', () => sourceEntries(deps, { namespace, spec }, source))
    if (entries !== undefined) await this.#bring(entries, source)
    await deps.journal.flush(syncing.writer.workflowID)
    return rotated
  }

  async #bring(entries: readonly SourceEntry[], source: Source): Promise<void> {
    const former = new Map(await syncedTargets(this.#deps, this.#syncing))
    const wantedNames = new Set(entries.map(({ name }) => name))
    await inParallel(entries, PARALLEL_ENTRIES, async (entry) => {
      await this.#try(`target ${entry.name}`, () => this.#write(entry, former.get(entry.name), source))
    })
    const name = this.#targetToSource
    if (name !== undefined) {
      wantedNames.add(name)
      await this.#try(`target ${name}`, () => this.#writeTargetToSource(name))
    }
    if (this.errors.length > 0) return
    const vanished = [...former.values()].filter(({ metadata }) => !wantedNames.has(metadata.name))
    await inParallel(vanished, PARALLEL_ENTRIES, async (target) => {
      await this.#try(`target ${target.metadata.name}`, () => removeSynced(this.#deps, this.#syncing, target))
    })
  }

  /** The name of the Target for the source; undefined: none is wanted. */
  get #targetToSource(): string | undefined {
    const { createTargetToSource = false, targetToSourceName, sourceNamespace } = this.#spec
    return createTargetToSource ? (targetToSourceName ?? sourceNamespace) : undefined
  }

  async #writeTargetToSource(name: string): Promise<void> {
    const { name: access, key = KUBECONFIG_KEY } = this.#spec.secretRef
    // The Secret of an earlier entry with this name: no Target would reference it any more.
    if (name !== access) await removeSecret(this.#deps, this.#syncing, name)
    await writeTarget(this.#deps, this.#syncing, { name, secretRef: { name: access, key } })
  }

  async #write({ name, kubeconfig }: SourceEntry, former: Target | undefined, source: Source): Promise<void> {
    if (name === this.#spec.secretRef.name)
      throw new SyncProblem(
        'found the name in spec.secretRef.name; use another name, because Pawl would overwrite its Secret',
      )
    if (name === this.#targetToSource)
      throw new SyncProblem(
        'found the name of the Target for the source (spec.targetToSourceName, else spec.sourceNamespace); expected another one',
      )
    if (kubeconfig !== undefined) {
      await writeCredentials(this.#deps, this.#syncing, { name, kubeconfig })
      return
    }
    if (isFresh(former, this.#deps.now()) && (await hasSecret(this.#deps, this.#syncing, name))) return
    const shoot = { namespace: this.#spec.sourceNamespace, name, expirationSeconds: SHOOT_SECONDS }
    const access = await requestShootAccess(source.cluster.kube, shoot, source.signal)
    const issued = Buffer.from(access.kubeconfig).toString('base64')
    await writeCredentials(this.#deps, this.#syncing, { name, kubeconfig: issued, issuedUntil: access.expiresAt })
  }

  /** Undefined after a failure that is reported to users. @throws bugs. */
  async #try<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      this.errors.push(`${what}: ${messageOf(error)}`)
      return undefined
    }
  }
}

/** Whether the credentials of a Shoot need no renewal yet: half of the granted time remains, and more than the time until the next synchronization. */
function isFresh(target: Target | undefined, now: Date): boolean {
  const annotations = target?.metadata.annotations ?? {}
  const timeOf = (annotation: string) => Date.parse(annotations[annotation] ?? '')
  const syncedMs = timeOf(LAST_TARGET_SYNC_ANNOTATION)
  const grantedMs = timeOf(CREDENTIALS_UNTIL_ANNOTATION) - syncedMs
  const renewalMs = Number.isNaN(grantedMs)
    ? SHOOT_RENEWAL_MS
    : Math.min(SHOOT_RENEWAL_MS, grantedMs / 2, grantedMs - SURELY_LOOKED_MS)
  const ageMs = now.getTime() - syncedMs
  // Pawl writes no future date.
  return ageMs >= 0 && ageMs < renewalMs
}

function messageOf(error: unknown): string {
  if (error instanceof SyncProblem) return error.message
  if (error instanceof KubeError || error instanceof DeployError)
    return shortenText(toDeployError('SyncTargets', error).message, 500)
  throw error
}

function writerOf(by: By, step: string) {
  return { ...by, step, fieldManager: fieldManagerOf(by) }
}
