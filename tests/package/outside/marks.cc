// Ten marked steps in C++; prints whether anybody recorded them.
#include <podprof.h>

#include <iostream>
#include <string>

int main()
{
	bool recorded = false;

	for (int i = 0; i < 10; i++) {
		podprof_step_begin(i);
		podprof_range_push(std::string("from C++").c_str());
		podprof_range_pop();
		recorded = recorded || podprof_recording();
		podprof_step_end();
	}
	std::cout << "recorded " << recorded << "\n";
	return 0;
}
