// The activity of the passes over a Target that is being deleted (workflows/landscaper/target/controller.ts).

import type { ActivityContext, By } from '../../../../workflows/kit/index.ts'
import { depsOf } from '../../deps.ts'

/**
 * Removes the finalizers of the namespace's Targets that no DeployItem needs, and emits an Event with the users of the other Targets that are being
 * deleted.
 *
 * @returns the names of the DeployItems that need the subject.
 * @throws KubeError
 */
export async function releaseTarget(
  { by }: { readonly by: By },
  { subject: { namespace, name }, parts }: Pick<ActivityContext, 'subject' | 'parts'>,
): Promise<{ readonly users: readonly string[] }> {
  const { protection } = depsOf(parts).landscaper
  const users = await protection.removeFinalizers(by, namespace)
  return { users: users.get(name) ?? [] }
}
