import type { By, JobInput } from '../kit/index.ts'
import type { InstallationActivities, InstallationState } from './controller.ts'

export async function observeInstallation(
  act: InstallationActivities,
  { subject }: JobInput,
  by: By,
): Promise<InstallationState | undefined> {
  const { target, execution } = await act.observeInstallation({ by, subject })
  return target === undefined ? undefined : { target, execution }
}
