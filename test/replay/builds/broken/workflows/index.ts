// A build in which open runs of Executions do not fit any more.

export { context, deploy, installation, targetSync } from '../../../../../workflows/index.ts'
export { execution } from '../../../broken.ts'
