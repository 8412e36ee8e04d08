// The common parts of passes over crons and rollouts: the target resource, the only child Disruption, its creation and
// its deletion.
//
// P1. The child has a fixed name. A Disruption with this name and another owner blocks the creation of a child, but not
//   the deletion of the parent.
// P2. During an emergency stop no child is created.
// P3. If operators have disabled crons or rollouts, the controller only deletes children when the parent is deleted.

import {
  action,
  again,
  done,
  type LevelPass,
  type ObservedObject,
  type Outcome,
  retryLater,
  type StateQuery,
  type Step,
  stop,
} from '../kit/index.ts'
import { childDisruption, childName, type Parent, type PodSelector, type SelectorFields } from './child-disruption.ts'
import { configOf } from './config.ts'
import { GROUP, VERSION } from './contract.ts'
import { type StopState, stopIn, stopQueries, stopText } from './emergency-stop.ts'
import { durationMs } from './go-duration.ts'

/** The Disruption that a cron or rollout has created. */
export interface Child extends ObservedObject {
  readonly metadata: ObservedObject['metadata'] & {
    readonly creationTimestamp: string
    readonly deletionTimestamp?: string
    readonly annotations?: Readonly<Record<string, string>>
  }
}

/** @typeParam Seen the view of the target resource. */
export interface ParentState<Seen> extends StopState {
  /** The target resource, in the query of its kind. */
  readonly deployment: Seen | undefined
  readonly statefulSet: Seen | undefined
  /** At most one, because it has a fixed name; owned children only (P1). */
  readonly children: readonly Child[]
}

export const CHILD_KIND = `${GROUP}/${VERSION}/Disruption`

/** @param view the view of the target resource. */
export function parentQueries(
  kind: Parent<SelectorFields>['kind'],
  view: (object: never) => unknown,
): Readonly<Record<keyof ParentState<unknown>, StateQuery>> {
  const target = (its: string) => ({
    name: '${target.spec.targetResource.name}',
    view,
    onlyIf: { 'spec.targetResource.kind': [its] },
  })
  return {
    deployment: { kind: 'apps/v1/Deployment', ...target('deployment') },
    statefulSet: { kind: 'apps/v1/StatefulSet', ...target('statefulset') },
    children: {
      kind: CHILD_KIND,
      many: true,
      owned: true,
      name: childName({ kind, metadata: { name: '${target.metadata.name}' } }),
      pick: ['metadata.creationTimestamp', 'metadata.annotations'],
    },
    ...stopQueries,
  }
}

/** The common part of passes over both kinds. */
export type ParentPass<Seen, Target> = LevelPass<ParentState<Seen>, Target>

type AnyParent = Parent<SelectorFields> & { readonly spec: { readonly delayedStartTolerance?: string | number } }
type AnyPass = Pick<ParentPass<unknown, AnyParent>, 'state' | 'act' | 'target' | 'settings' | 'now'> & Refreshing

interface Refreshing {
  refresh(name: 'children'): Promise<readonly Child[]>
}

/** The maximum delay of a child after its scheduled time. */
export function toleranceMsOf({ target, settings }: Pick<AnyPass, 'target' | 'settings'>): number {
  const given = durationMs(target.spec.delayedStartTolerance)
  return given ?? configOf({ settings }).controller.defaultCronDelayedStartToleranceMs
}

/** No event wakes the pass when the operators enable the kind. */
const RECHECK_MS = 300_000

/** The message of the Event on an object whose kind is disabled, with the configuration's field. */
export function disabledText(field: EnabledField): string {
  return `controller.${field} is false, so no Disruption is created`
}

export type EnabledField = 'disruptionCronEnabled' | 'disruptionRolloutEnabled'

/** P3. Emits one Event. */
export function requireEnabled<Pass extends Pick<AnyPass, 'act' | 'settings'>>(field: EnabledField): Step<Pass> {
  return action<Pass>('obeySwitch', async (pass): Promise<Outcome> => {
    if (configOf(pass).controller[field] !== false) return done
    await pass.act.event({ type: 'Warning', reason: 'Disabled', message: disabledText(field) })
    return again(RECHECK_MS)
  })
}

/** P2. Whether no child may be created now; emits an Event if an emergency stop is the reason. */
export async function isBlocked(pass: AnyPass): Promise<boolean> {
  if (configOf(pass).controller.deleteOnly) return true
  const stopping = stopIn(pass.state)
  if (stopping === undefined) return false
  const message = stopText(stopping, 'no Disruption is created')
  await pass.act.event({ type: 'Warning', reason: 'EmergencyStop', message })
  return true
}

/**
 * Creates the child Disruption.
 *
 * @param forMs the time of the schedule or of the change.
 * @returns the child; its value is undefined if the child is deleted already. Or the fault if another Disruption has
 * the name (P1).
 */
export async function createChild(
  pass: AnyPass,
  selector: PodSelector,
  forMs: number,
): Promise<{ readonly child: Child | undefined } | { readonly fault: Outcome }> {
  const manifest = childDisruption(pass.target, selector, forMs)
  const result = await pass.act.create({ apiVersion: `${GROUP}/${VERSION}`, kind: 'Disruption', ...manifest })
  const [child] = await pass.refresh('children')
  if (child !== undefined || result === 'created') return { child }
  const message = `Disruption "${manifest.metadata.name}" already exists and does not belong to ${pass.target.kind} "${pass.target.metadata.name}"; delete it, or rename the ${pass.target.kind}`
  return { fault: retryLater('NotOwned', message) }
}

/** Deletes the child, which undoes its changes; done when it is gone. */
export async function deleteChildren(pass: Pick<AnyPass, 'state' | 'act'> & Refreshing): Promise<Outcome> {
  const alive = pass.state.children.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  await Promise.all(alive.map(async (child) => await pass.act.remove(child)))
  const remaining = alive.length === 0 ? pass.state.children : await pass.refresh('children')
  return remaining.length === 0
    ? done
    : stop(`waiting for the end of Disruption ${remaining.map(({ metadata }) => metadata.name).join(', ')}`)
}
