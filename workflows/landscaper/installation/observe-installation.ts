import type { By, JobInput } from '../../kit/index.ts'
import { versionsOf, withNews } from '../execution/observe-execution.ts'
import { withSubsNews } from './sub-installations.ts'
import type { InstallationActivities, InstallationState } from './pass.ts'

type Act = Pick<InstallationActivities, 'startInstallation' | 'observeInstallation' | 'itemsOfExecution'>

/** Observes the Installation and its children. The first pass of a run starts the job in the same activity. */
export async function observeInstallation(
  act: Act,
  { subject, jobID, asked }: JobInput,
  by: By,
  latest: () => InstallationState | undefined,
): Promise<InstallationState | undefined> {
  const before = latest()
  const isFirst = before === undefined
  const knownSubs = Object.fromEntries((before?.subInstallations ?? []).map(({ uid, version }) => [uid, version]))
  const {
    target,
    execution,
    start,
    subInstallations: subs,
    ...news
  } = isFirst
    ? await act.startInstallation({ by, subject, jobID, asked })
    : {
        ...(await act.observeInstallation({ by, subject, known: versionsOf(act.itemsOfExecution()), knownSubs })),
        start: undefined,
      }
  if (target === undefined) return undefined
  const { isAdopted = false, wantedSubs } = latest() ?? {}
  return {
    target,
    execution,
    start,
    isAdopted,
    wantedSubs,
    subInstallations: withSubsNews(latest()?.subInstallations ?? [], subs),
    deployItems: withNews(act.itemsOfExecution(), news),
  }
}
