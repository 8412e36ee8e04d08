// Explains the status of a DeployItem to users: the object that is not ready, or the error, and the deployed objects.

import { type DeployedObject, fieldsOf, listOf, type StatusExplanation, textOf } from '../../kit/index.ts'
import { RESOURCES_READY_CONDITION } from './kind.ts'

export function explainDeployItem(item: object): StatusExplanation {
  const status = fieldsOf(fieldsOf(item)['status'])
  const waiting = listOf(status['conditions'])
    .map(fieldsOf)
    .find(({ type, status: value }) => type === RESOURCES_READY_CONDITION && value === 'False')
  const error = textOf(fieldsOf(status['lastError'])['message'])
  const summary = stateText(status, { waiting: textOf(waiting?.['message']), error })
  const deployed = listOf(fieldsOf(status['providerStatus'])['managedResources']).flatMap(deployedObject)
  return { ...(summary !== '' && { summary }), ...(deployed.length > 0 && { deployed }) }
}

function stateText(
  { jobID, jobIDFinished, lastReconcileTime, jobIDGenerationTime }: Readonly<Record<string, unknown>>,
  { waiting, error }: { readonly waiting: string; readonly error: string },
): string {
  if (jobID === jobIDFinished) return error
  // Until a deployer picks the job up, condition and error are those of the previous job.
  const isPickedUp = instant(lastReconcileTime) >= instant(jobIDGenerationTime) && textOf(lastReconcileTime) !== ''
  return isPickedUp ? waiting || error : ''
}

/** Comparable text: timestamps may have milliseconds. */
function instant(timestamp: unknown): string {
  return textOf(timestamp).replace(/Z$/, '')
}

function deployedObject(managed: unknown): readonly DeployedObject[] {
  const resource = fieldsOf(fieldsOf(managed)['resource'])
  const [apiVersion = '', kind = '', namespace = '', name = '', uid = ''] = [
    ...['apiVersion', 'kind', 'namespace', 'name', 'uid'],
  ].map((key) => textOf(resource[key]))
  return uid === '' ? [] : [{ apiVersion, kind, namespace, name, uid }]
}
