import type { By, JobInput } from '../../kit/index.ts'
import { versionsOf, withNews } from '../execution/observe-execution.ts'
import type { InstallationActivities, InstallationState } from './pass.ts'

type Act = Pick<InstallationActivities, 'startInstallation' | 'observeInstallation' | 'itemsOfExecution'>

/** The first pass of a run begins the job where it looks. */
export async function observeInstallation(
  act: Act,
  { subject, jobID, asked }: JobInput,
  by: By,
  latest: () => InstallationState | undefined,
): Promise<InstallationState | undefined> {
  const isFirst = latest() === undefined
  const { target, execution, start, ...news } = isFirst
    ? await act.startInstallation({ by, subject, jobID, asked })
    : {
        ...(await act.observeInstallation({ by, subject, known: versionsOf(act.itemsOfExecution()) })),
        start: undefined,
      }
  if (target === undefined) return undefined
  const { isAdopted = false, isEmpty = false } = latest() ?? {}
  return { target, execution, start, deployItems: withNews(act.itemsOfExecution(), news), isAdopted, isEmpty }
}
