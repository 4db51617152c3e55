/** The label of a position that counts for nothing: not in the loss, its gradient or a measurement. Only samples with several labels have it. */
export const NO_CLASS = -1
