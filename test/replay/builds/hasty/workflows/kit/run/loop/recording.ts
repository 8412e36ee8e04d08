export { interceptors } from '../../../../../../../../workflows/kit/run/loop/recording.ts'
