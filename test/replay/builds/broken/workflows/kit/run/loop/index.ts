export { runLevel } from '../../../../../../../../workflows/kit/run/loop/index.ts'
