// The threads among which a thread shares its work. None of them computes with denormal numbers.
#pragma once

namespace arbalest {

// The calling thread computes with so many threads from now on, itself among them. Throws LIMIT_REACHED if the system has none for it.
void use_team(int threads);

// The calling thread computes with the threads that it has been given, or alone if it has been given none.
void use_own_team();

}  // namespace arbalest
