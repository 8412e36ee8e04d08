// A build that cannot replay open runs of Executions.

export { context, deploy, installation, targetSync } from '../../../../../workflows/index.ts'
export { execution } from '../../../broken.ts'
