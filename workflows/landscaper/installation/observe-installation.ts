import type { By, JobInput } from '../../kit/index.ts'
import type { InstallationActivities, InstallationState } from './pass.ts'

export async function observeInstallation(
  act: InstallationActivities,
  { subject }: JobInput,
  by: By,
  previous: InstallationState | undefined,
): Promise<InstallationState | undefined> {
  const { target, execution } = await act.observeInstallation({ by, subject })
  if (target === undefined) return undefined
  return { target, execution, isAdopted: previous?.isAdopted ?? false, isEmpty: previous?.isEmpty ?? false }
}
