// The rules of items, for activities: they are the wing's, which asks the same before an object is stored (admission.ts of its kinds).

export {
  countProblem,
  EXECUTION_NAME_LIMIT,
  itemProblems,
  MAX_ITEMS as MOST_ITEMS,
  ownerNameProblem,
  shownName,
} from '../../workflows/landscaper/item-rules.ts'
