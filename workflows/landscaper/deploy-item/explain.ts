// What the status of a DeployItem tells users: the object that is not ready, or the error, and the deployed objects.

import { type DeployedObject, fieldsOf, listOf, type StatusExplanation, textOf } from '../../kit/index.ts'
import { RESOURCES_READY_CONDITION } from './kind.ts'

export function explainDeployItem(item: object): StatusExplanation {
  const status = fieldsOf(fieldsOf(item)['status'])
  const waiting = listOf(status['conditions'])
    .map(fieldsOf)
    .find(({ type, status: value }) => type === RESOURCES_READY_CONDITION && value === 'False')
  const error = textOf(fieldsOf(status['lastError'])['message'])
  const isOpen = status['jobID'] !== status['jobIDFinished']
  // Before that, condition and error are those of the previous job.
  const isPickedUp =
    Date.parse(textOf(status['lastReconcileTime'])) >= Date.parse(textOf(status['jobIDGenerationTime']))
  const summary = isOpen ? (isPickedUp ? textOf(waiting?.['message']) || error : '') : error
  const deployed = listOf(fieldsOf(status['providerStatus'])['managedResources']).flatMap(deployedObject)
  return { ...(summary !== '' && { summary }), ...(deployed.length > 0 && { deployed }) }
}

function deployedObject(managed: unknown): readonly DeployedObject[] {
  const resource = fieldsOf(fieldsOf(managed)['resource'])
  const [apiVersion = '', kind = '', namespace = '', name = '', uid = ''] = [
    ...['apiVersion', 'kind', 'namespace', 'name', 'uid'],
  ].map((key) => textOf(resource[key]))
  return uid === '' ? [] : [{ apiVersion, kind, namespace, name, uid }]
}
