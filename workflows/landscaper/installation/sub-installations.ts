// What the run knows of its sub-installations, and the steps that are about them alone. Source: spec/landscaper.md 2.3 "CleanupOrphaned",
// "ObjectsCreated", 2.4.

import type { SubsResult } from '../../../activities/landscaper/installation/sub-installations.ts'
import type { ChildExecution, InstallationView } from '../../../activities/landscaper/installation/views.ts'
import { again, done, fail, isIdle, type Outcome, stop } from '../../kit/index.ts'
import { pauseText } from '../pause.ts'
import { shortList } from '../short-list.ts'
import { SUB_INSTALLATIONS_CONDITION } from './kind.ts'
import type { InstallationPass } from './pass.ts'

/** What a write has come to, into the state. */
export function absorbSubs(pass: InstallationPass, { changed, gone }: SubsResult): void {
  const { subInstallations } = pass.state
  pass.state = { ...pass.state, subInstallations: withSubsNews(subInstallations, { changed, gone }) }
}

/** By name, so that every pass treats them in the same order. */
export function withSubsNews(
  known: readonly InstallationView[],
  { changed, gone }: Pick<SubsResult, 'changed' | 'gone'>,
): readonly InstallationView[] {
  const byUid = new Map(known.filter(({ uid }) => !gone.includes(uid)).map((one) => [one.uid, one]))
  for (const one of changed) byUid.set(one.uid, one)
  return [...byUid.values()].sort((left, right) => (left.name < right.name ? -1 : 1))
}

/** Hands the job to those that are under deletion, and waits until they are gone. */
export async function cleanUpSubInstallations(pass: InstallationPass): Promise<Outcome> {
  const { jobID } = pass
  const leaving = () => pass.state.subInstallations.filter(({ deleting }) => deleting)
  if (leaving().length === 0) return done
  const untold = leaving().filter((sub) => sub.jobID !== jobID && isIdle(sub))
  // Their successors stay: they are made anew, or were there without them.
  if (untold.length > 0) await handDown(pass, untold, { ignoresSuccessors: true })
  const left = leaving()
  if (left.length === 0) return done
  const unfinished = left.filter((sub) => sub.jobIDFinished !== jobID)
  if (unfinished.length > 0) return stop(`waiting for sub-installations to be uninstalled: ${names(unfinished)}`)
  const message = `sub-installations could not be uninstalled: ${shortList(left.map(shown)).join('; ')}`
  pass.draft.conditions.push({
    type: SUB_INSTALLATIONS_CONDITION,
    status: 'False',
    reason: 'InstallationNotDeleted',
    message,
  })
  return fail('OrphanedSubInstallations', message, childCodes(undefined, left))
}

/** Hands the job to all; one that a hand has deleted since it was made is uninstalled in it. */
export async function triggerSubInstallations(pass: InstallationPass): Promise<Outcome> {
  const { state, jobID } = pass
  const { target } = state
  // What they were rendered from, and which they are, stands in the status before one of them begins, and before an item does: a run that is
  // lost afterwards renders nothing again.
  if (!target.deleting && target.phase !== 'ObjectsCreated' && hasAny(pass)) return again(0)
  const waiting = state.subInstallations.filter((sub) => sub.jobID !== jobID)
  if (waiting.length === 0) return done
  const idle = waiting.filter(isIdle)
  if (idle.length > 0 && target.paused !== undefined)
    return stop(`${pauseText(target.paused)}; held back: ${names(idle)}`)
  if (idle.length > 0) await handDown(pass, idle, { ignoresSuccessors: false })
  const busy = waiting.filter((sub) => !isIdle(sub))
  return busy.length === 0 ? done : stop(`waiting for sub-installations to finish another job: ${names(busy)}`)
}

/** There are any, or were in the job before. */
function hasAny({ state: { subInstallations, wantedSubs = [], target } }: InstallationPass): boolean {
  return subInstallations.length + wantedSubs.length + target.activeSubs.length > 0
}

async function handDown(
  pass: InstallationPass,
  subs: readonly InstallationView[],
  { ignoresSuccessors }: { readonly ignoresSuccessors: boolean },
): Promise<void> {
  const { by, subject, jobID, act } = pass
  const subInstallations = subs.map(asChild)
  absorbSubs(pass, await act.triggerSubInstallations({ by, subject, jobID, subInstallations, ignoresSuccessors }))
}

/** What an activity needs of a sub-installation. */
export function asChild({ uid, name, version, jobID, interruptRequested, heldBy }: InstallationView) {
  return { uid, name, version, jobID, interruptRequested, ...(heldBy !== undefined && { heldBy }) }
}

/** Names for people; of very many only the first. */
export function names(subs: readonly InstallationView[]): string {
  return shortList(subs.map(({ name }) => name)).join(', ')
}

/** The codes of what children failed of, each once. Source: spec/landscaper.md 1.16. */
export function childCodes(
  execution: ChildExecution | undefined,
  subs: readonly InstallationView[],
): readonly string[] {
  return [...new Set([...(execution?.codes ?? []), ...subs.flatMap(({ codes = [] }) => codes)])]
}

/** Its state for people, with what it failed of. */
export function shown({ name, phase, error }: InstallationView): string {
  const found = `installation ${name} is ${phase ?? 'unfinished'}`
  return error === undefined ? found : `${found}: ${error}`
}
