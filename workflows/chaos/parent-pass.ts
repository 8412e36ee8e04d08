// What passes over crons and rollouts have in common: the target resource, the one Disruption of theirs that is there, and how it comes and goes.
//
//   P1. Their Disruption has one name. One of that name that is somebody else's is in the way of a new one, and of nothing else: not of a deletion.
//   P2. Where everything is to stop, none is made.
//   P3. Where operators have switched crons or rollouts off, nothing is done with them but to undo what they did when they are deleted.

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
import { childDisruption, childName, type Parent, type PodSelector, type Selecting } from './child-disruption.ts'
import { configOf } from './config.ts'
import { GROUP, VERSION } from './contract.ts'
import { type StopState, stopIn, stopQueries, stopText } from './emergency-stop.ts'
import { durationMs } from './go-duration.ts'

/** A Disruption of the cron or rollout. */
export interface Child extends ObservedObject {
  readonly metadata: ObservedObject['metadata'] & {
    readonly creationTimestamp: string
    readonly deletionTimestamp?: string
    readonly annotations?: Readonly<Record<string, string>>
  }
}

/** @typeParam Seen what is seen of the target resource. */
export interface ParentState<Seen> extends StopState {
  /** The target resource, in the place of its kind. */
  readonly deployment: Seen | undefined
  readonly statefulSet: Seen | undefined
  /** At most one, since it has one name; only what is its own (P1). */
  readonly children: readonly Child[]
}

export const CHILD_KIND = `${GROUP}/${VERSION}/Disruption`

/** @param view what is seen of the target resource. */
export function parentQueries(
  kind: Parent<Selecting>['kind'],
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

/** What passes over both have. */
export type ParentPass<Seen, Target> = LevelPass<ParentState<Seen>, Target>

type AnyParent = Parent<Selecting> & { readonly spec: { readonly delayedStartTolerance?: string | number } }
type AnyPass = Pick<ParentPass<unknown, AnyParent>, 'state' | 'act' | 'target' | 'settings' | 'now'> & Refreshing

interface Refreshing {
  refresh(name: 'children'): Promise<readonly Child[]>
}

/** How late a Disruption may be made. */
export function toleranceMsOf({ target, settings }: Pick<AnyPass, 'target' | 'settings'>): number {
  const given = durationMs(target.spec.delayedStartTolerance)
  return given ?? configOf({ settings }).controller.defaultCronDelayedStartToleranceMs
}

/** Nothing wakes it when it is switched on. */
const LOOK_AGAIN_MS = 300_000

/** What an object is told of a switch that is off, by the configuration's name. */
export function switchedOffText(field: SwitchField): string {
  return `controller.${field} is false: no Disruption is made`
}

export type SwitchField = 'disruptionCronEnabled' | 'disruptionRolloutEnabled'

/** P3. Told once. */
export function obeySwitch<Pass extends Pick<AnyPass, 'act' | 'settings'>>(field: SwitchField): Step<Pass> {
  return action<Pass>('obeySwitch', async (pass): Promise<Outcome> => {
    if (configOf(pass).controller[field] !== false) return done
    await pass.act.event({ type: 'Warning', reason: 'Disabled', message: switchedOffText(field) })
    return again(LOOK_AGAIN_MS)
  })
}

/** P2. Whether nothing may be made now; told where an emergency stop is why. */
export async function isHeldBack(pass: AnyPass): Promise<boolean> {
  if (configOf(pass).controller.deleteOnly) return true
  const stopping = stopIn(pass.state)
  if (stopping === undefined) return false
  const message = stopText(stopping, 'no Disruption is made')
  await pass.act.event({ type: 'Warning', reason: 'EmergencyStop', message })
  return true
}

/**
 * Makes the Disruption.
 *
 * @param forMs for which time of the schedule, or which change.
 * @returns as it is there; undefined when it is gone already. Or the fault of one that is in the way (P1).
 */
export async function makeChild(
  pass: AnyPass,
  selector: PodSelector,
  forMs: number,
): Promise<{ readonly child: Child | undefined } | { readonly fault: Outcome }> {
  const wanted = childDisruption(pass.target, selector, forMs)
  const came = await pass.act.create({ apiVersion: `${GROUP}/${VERSION}`, kind: 'Disruption', ...wanted })
  const [child] = await pass.refresh('children')
  if (child !== undefined || came === 'created') return { child }
  const message = `Disruption ${wanted.metadata.name} is there, and not of ${pass.target.kind} ${pass.target.metadata.name}; expected none of this name`
  return { fault: retryLater('NotOwned', message) }
}

/** Deletes the Disruption, which undoes what it did; done when it is gone. */
export async function endChildren(pass: Pick<AnyPass, 'state' | 'act'> & Refreshing): Promise<Outcome> {
  const alive = pass.state.children.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  await Promise.all(alive.map(async (child) => await pass.act.remove(child)))
  const left = alive.length === 0 ? pass.state.children : await pass.refresh('children')
  return left.length === 0 ? done : stop(`waits for Disruption ${left.map(({ metadata }) => metadata.name).join(', ')}`)
}
