import type { By, JobInput } from '../../kit/index.ts'
import { versionsOf, withNews } from '../execution/observe-execution.ts'
import type { InstallationActivities, InstallationState } from './pass.ts'

export async function observeInstallation(
  act: Pick<InstallationActivities, 'observeInstallation' | 'itemsOfExecution'>,
  { subject }: JobInput,
  by: By,
  latest: () => InstallationState | undefined,
): Promise<InstallationState | undefined> {
  const known = versionsOf(act.itemsOfExecution())
  const { target, execution, ...news } = await act.observeInstallation({ by, subject, known })
  if (target === undefined) return undefined
  const { isAdopted = false, isEmpty = false } = latest() ?? {}
  return { target, execution, deployItems: withNews(act.itemsOfExecution(), news), isAdopted, isEmpty }
}
